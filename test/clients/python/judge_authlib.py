"""Logs in, refreshes, introspects and revokes with Authlib, and prints what came of it."""

import json
import os
import sys

import requests
from authlib.integrations.requests_client import OAuth2Session, OAuthError
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from joserfc.jwk import ECKey

given = json.loads(sys.argv[1])
metadata = AuthorizationServerMetadata(requests.get(get_well_known_url(given["base_url"], external=True)).json())


def faults(metadata):
    # The service on this machine speaks no TLS.
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    for key in metadata.REGISTRY_KEYS:
        try:
            getattr(metadata, f"validate_{key}")()
        except ValueError as error:
            yield str(error)


def session(secret=given["client_secret"], **options):
    return OAuth2Session(given["client_id"], secret, token_endpoint=metadata["token_endpoint"], **options)


def session_with_key():
    # From docs/clients.md.
    from short_lived import ShortLived

    method = "private_key_jwt"
    options = {"token_endpoint_auth_method": method, "revocation_endpoint_auth_method": method}
    with_key = session(ECKey.import_key(given["private_jwk"]), **options)
    with_key.register_client_auth_method(ShortLived(metadata["issuer"], alg="ES256"))
    return with_key


def error_of(request, **parameters):
    try:
        return request(**parameters)
    except OAuthError as error:
        return error.error


def introspect(token):
    return client.introspect_token(metadata["introspection_endpoint"], token=token).json()


def exchange(subject_token):
    return session().fetch_token(
        grant_type="urn:ietf:params:oauth:grant-type:token-exchange",
        audience="provider_b",
        subject_token=subject_token,
        subject_token_type="urn:ietf:params:oauth:token-type:access_token",
    )


if "subject_token" in given:
    token = exchange(given["subject_token"])
    told = sorted(set(token) - {"access_token", "expires_at"})
    wrong_subject = error_of(exchange, subject_token="made-up")
    is_offered = "urn:ietf:params:oauth:grant-type:token-exchange" in metadata["grant_types_supported"]
    judged = {"told": told, "token_type": token["token_type"], "is_offered": is_offered}
    print(json.dumps({**judged, "is_token": len(token["access_token"]) > 0, "wrong_subject": wrong_subject}))
    sys.exit()

right_session = session_with_key if "private_jwk" in given else session
client = right_session()
client.fetch_token(grant_type="provider_credentials", provider="provider_f", id_token=given["id_token"])
access_token = client.refresh_token()["access_token"]
before = introspect(access_token)
client.revoke_token(metadata["revocation_endpoint"]).raise_for_status()
after = introspect(access_token)

print(
    json.dumps(
        {
            "token_use": before["token_use"],
            "active": [before["active"], after["active"]],
            "revoked": error_of(client.refresh_token),
            "unknown_grant": error_of(right_session().fetch_token, grant_type="password"),
            "wrong_secret": error_of(session(secret="wrong").fetch_token),
            "secret_in_body": error_of(session(token_endpoint_auth_method="client_secret_post").fetch_token),
            "metadata": list(faults(metadata)),
        }
    )
)
