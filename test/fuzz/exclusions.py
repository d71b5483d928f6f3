"""Failures that say nothing against the service, each with its reason. Everything else fails the run."""

import json

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse


def content_of(response):
    try:
        return json.loads(response.content)
    except ValueError:
        return {}


def is_gateways_404(failure, response):
    """API Gateway answers 404 for a method that has no route, and asks no function: there is no 405 to configure."""
    return (
        isinstance(failure, UnsupportedMethodResponse)
        and response.status_code == 404
        and content_of(response) == {"message": "Not Found"}
    )


def is_unknown_credential(failure, response):
    """No schema can tell which credentials a provider accepts, or which refresh tokens were issued."""
    return (
        isinstance(failure, RejectedPositiveData)
        and response.status_code == 400
        and content_of(response).get("error") == "invalid_grant"
    )


def is_used_key(failure, response):
    """No schema can tell which idempotency keys were used before, for another request."""
    return (
        isinstance(failure, RejectedPositiveData)
        and response.status_code == 422
        and [one["field"] for one in content_of(response).get("errors", [])] == ["Idempotency-Key"]
        and "was used for another request" in content_of(response)["error_description"]
    )


def is_forbidden_key(failure, response):
    """A body with a key that could change an object's prototype is rejected, at any depth; no schema can say that."""
    return (
        isinstance(failure, RejectedPositiveData)
        and response.status_code in (400, 422)
        and content_of(response).get("error_description") == "The body has the key __proto__, or constructor with prototype."
    )


SETTINGS_DECIDE = {
    "The parameter nonce must not be supplied, since the settings of this provider use no id token.",
    "The redirect_uri must be one of those in the provider settings.",
}


def is_against_settings(failure, response):
    """The provider settings of the Login App decide about these parameters; no schema can tell."""
    return (
        isinstance(failure, RejectedPositiveData)
        and response.status_code == 400
        and content_of(response).get("error_description") in SETTINGS_DECIDE
    )


def is_last_identity(failure, response):
    """No schema can tell how many identities the person has left."""
    return (
        isinstance(failure, RejectedPositiveData)
        and response.status_code == 422
        and [one["field"] for one in content_of(response).get("errors", [])] == ["identity_id"]
    )


def is_unknown_notification(failure, response):
    """No schema can tell what an issuer has signed, or which providers a Login App has."""
    description = content_of(response).get("error_description", "")
    return (
        isinstance(failure, RejectedPositiveData)
        and response.status_code == 400
        and (description.startswith("The payload is not a notification") or description.endswith("is not set up for this Login App."))
    )


def is_no_locale(failure, response):
    """Which texts are language tags, no schema can tell."""
    return (
        isinstance(failure, RejectedPositiveData)
        and response.status_code == 422
        and [one["field"] for one in content_of(response).get("errors", [])] == ["device.locale"]
    )


RECIPIENTS = {
    "Send either the parameter login_user_id or the parameter shard.",
    "The parameters limit and cursor go with the parameter shard.",
    "The parameter cursor must be the next_cursor of the page before, with the same shard and platform.",
}


def is_no_sender_query(failure, response):
    """Which parameters go together, and which cursors were written, no schema can tell."""
    return (
        isinstance(failure, RejectedPositiveData)
        and response.status_code == 400
        and content_of(response).get("error_description") in RECIPIENTS
    )


@schemathesis.hook
def filter_failure(context, failure, case, response):
    reasons = (
        is_gateways_404,
        is_unknown_credential,
        is_used_key,
        is_forbidden_key,
        is_against_settings,
        is_last_identity,
        is_unknown_notification,
        is_no_locale,
        is_no_sender_query,
    )
    return not any(excluded(failure, response) for excluded in reasons)
