"""Failures that say nothing against the service, each with its reason. Everything else fails the run."""

import json

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse


def description_of(body):
    return body.get("error_description", "")


def fields_of(body):
    return [one["field"] for one in body.get("errors", [])]


def described_as(*descriptions):
    return lambda body: description_of(body) in descriptions


def naming(field):
    return lambda body: fields_of(body) == [field]


# Requests that fit the document and are rejected all the same: the reason, the status, and how the answer is recognised.
REJECTIONS = [
    (
        "No schema can tell which credentials a provider accepts, or which refresh tokens were issued.",
        400,
        lambda body: body.get("error") == "invalid_grant",
    ),
    (
        "No schema can tell which idempotency keys were used before, for another request.",
        422,
        lambda body: naming("Idempotency-Key")(body) and "was used for another request" in description_of(body),
    ),
    *(
        (
            "A body with a key that could change an object's prototype is rejected, at any depth; no schema can say that.",
            status,
            described_as("The body has the key __proto__, or constructor with prototype."),
        )
        for status in (400, 422)
    ),
    (
        "The provider settings of the Login App decide about these parameters; no schema can tell.",
        400,
        described_as(
            "The parameter nonce must not be supplied, since the settings of this provider use no id token.",
            "The redirect_uri must be one of those in the provider settings.",
            "The parameter redirect_uri must not be supplied with provider credentials.",
            "The parameter code_verifier must not be supplied with provider credentials.",
            "None of access_token, access_secret, id_token may be supplied with an authorization_code.",
        ),
    ),
    (
        "No schema can tell which rights a client has, or which settings keep tokens.",
        400,
        lambda body: description_of(body).startswith(
            ("The client may get tokens of providers", "The client may not get tokens of providers")
        )
        or body.get("error") == "invalid_target",
    ),
    (
        "No schema can tell which Login User Tokens, people and identities there are.",
        400,
        described_as(
            "The subject_token is not a valid Login User Token of this Login App.",
            "The Login App has no such Login User.",
            "The Login User has no identity of this identity_id.",
        ),
    ),
    ("No schema can tell how many identities the person has left.", 422, naming("identity_id")),
    (
        "No schema can tell which devices the links have disabled before.",
        422,
        described_as("The device is disabled; register it again first."),
    ),
    (
        "No schema can tell what an issuer has signed.",
        400,
        lambda body: description_of(body).startswith("The payload is not a notification") or "err" in body,
    ),
    (
        "No schema can tell which providers a Login App has.",
        400,
        lambda body: description_of(body).endswith("is not set up for this Login App."),
    ),
    (
        "The document does not say which characters are control characters.",
        400,
        lambda body: description_of(body).startswith("The parameter session_name must have 1 to 64 characters"),
    ),
    ("No schema can tell which times are on the calendar and in the future.", 422, naming("expires_at")),
    ("No schema can tell which ids stand for a missing one.", 422, naming("device.token")),
    ("No schema can tell which ids stand for a missing one.", 422, naming("device.installation_id")),
    (
        "No schema can tell which parameters go together, and which cursors were written.",
        400,
        described_as(
            "Send either the parameter login_user_id or the parameter shard.",
            "Send either the parameter logout_token or signed_request.",
            "Send either subject_token with subject_token_type, or login_user_id.",
            "The parameters limit and cursor go with the parameter shard.",
            "The parameter cursor must be the next_cursor of the page before, with the same shard and platform.",
            "The parameter cursor must be the next_cursor of the page before, with the same filters and order.",
        ),
    ),
    (
        "The document says in words that one field takes another, which generated clients understand better.",
        422,
        lambda body: naming("self_review")(body) and "needs requested_by" in description_of(body),
    ),
]


def has_only_empty_extras(form):
    """Whether a form for a guest has no parameters of other grants but empty ones, which count as omitted (RFC 6749, section 3.1)."""
    if not isinstance(form, dict) or form.get("grant_type") != "guest":
        return False
    own = {"grant_type", "client_id", "session_name", "scope"}
    return all(value == "" for name, value in form.items() if name not in own)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    try:
        body = json.loads(response.content)
    except ValueError:
        return True
    if isinstance(failure, UnsupportedMethodResponse):
        # API Gateway answers 404 for a method that has no route, and asks no function: there is no 405 to configure.
        return not (response.status_code == 404 and body == {"message": "Not Found"})
    if isinstance(failure, AcceptedNegativeData):
        return not has_only_empty_extras(case.body)
    if isinstance(failure, RejectedPositiveData):
        return not any(
            response.status_code == status and recognises(body) for _reason, status, recognises in REJECTIONS
        )
    return True
