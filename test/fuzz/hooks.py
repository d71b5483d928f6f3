"""What the fuzzer needs besides the API document: credentials for each security scheme, and what providers issue."""

import itertools
import json
import os
from zlib import crc32

import requests
import schemathesis
from requests.auth import _basic_auth_str as basic
from schemathesis.generation.meta import TestPhase

import exclusions  # noqa: F401, it registers itself

with open(os.environ["DEMO_FILE"], encoding="utf-8") as file:
    demo = json.load(file)

REGISTER = "POST /v2/marketing/push_notifications/devices"
RELATE = "POST /v2/marketing/login/user/push_notifications/devices"
LIST = "GET /v2/marketing/login/user/push_notifications/devices"
TOKEN = "POST /v2/marketing/oauth/token"
LINK = "POST /v2/marketing/login/user/identities"
USER = "/v2/marketing/login/user"
SESSIONS = f"GET {USER}/sessions"
END_SESSION = f"DELETE {USER}/sessions/{{session_id}}"
ENDING = {f"DELETE {USER}", f"DELETE {USER}/sessions", END_SESSION}


def provider_credentials(provider, subject="fuzzer"):
    """The form parameters of a credential that the sandbox has just issued, and an authorization code."""
    url = f"{demo['sandbox_url']}/{provider}/credentials"
    return requests.get(url, params={"subject": subject}, timeout=30).json()


CLIENT = basic(demo["login_app"]["client_id"], demo["login_app"]["client_secret"])


def call(operation, authorization, **body):
    """Sends a request of an operation's own, beside those of the fuzzer; the body of the response."""
    method, path = operation.split()
    headers = {"Authorization": authorization}
    answer = requests.request(method, demo["base_url"] + path, headers=headers, timeout=30, **body)
    answer.raise_for_status()
    return answer.json()


def issue_token(form):
    return "Bearer " + call(TOKEN, CLIENT, data=form)["access_token"]


def log_in(subject):
    form = {"grant_type": "provider_credentials", "provider": "provider_f"}
    return issue_token({**form, "id_token": provider_credentials("provider_f", subject)["id_token"]})


LOGIN_USER_TOKEN = log_in("fuzzer")
people = itertools.count()
LOGIN_APP_TOKEN = issue_token({"grant_type": "client_credentials"})
RECIPIENTS_TOKEN = issue_token({"grant_type": "client_credentials", "scope": "recipients"})


def register_device():
    return call(REGISTER, LOGIN_APP_TOKEN, json={"device": {"platform": "android", "token": "fuzzer"}})["id"]


DEVICE = register_device()


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Puts the bodies of links where the fuzzer looks; the document has them in an extension, for the sake of other tools."""
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                for link in response.get("links", {}).values():
                    if "x-request-body" in link:
                        link["requestBody"] = link.pop("x-request-body")


HEADERS = {
    "login_app_client": ("Authorization", CLIENT),
    "recipients_token": ("Authorization", RECIPIENTS_TOKEN),
    "login_app_token": ("Authorization", LOGIN_APP_TOKEN),
    "login_user_token": ("Authorization", LOGIN_USER_TOKEN),
    "login_user_token_in_authentication": ("Authentication", LOGIN_USER_TOKEN),
    "account": ("Authorization", basic(demo["account"]["account_id"], demo["account"]["account_secret"])),
}


@schemathesis.serializer("application/secevent+jwt")
def as_text(context, value):
    return str(value).encode()


def one_of(options, value):
    """Picks an option by a value, so that the same seed always picks the same one."""
    return options[crc32(repr(value).encode()) % len(options)]


@schemathesis.auth(refresh_interval=None)
class Credentials:
    """The credentials of one of the security schemes that an operation takes."""

    def get(self, case, context):
        schemes = [name for one in context.operation.definition.raw.get("security", []) for name in one if name in HEADERS]
        return HEADERS[one_of(schemes, (case.path_parameters, case.body))] if schemes else None

    def set(self, case, data, context):
        name, value = data
        if case.operation.label in ENDING and value == LOGIN_USER_TOKEN:
            # The request may end the session, so it is that of somebody new.
            value = log_in(f"somebody-{next(people)}")
        case.headers = {**(case.headers or {}), name: value}


def with_issued_credential(body):
    """The same login with what the provider has just issued. A code was issued without the parameters that go with one."""
    issued = provider_credentials(body["provider"])
    code = issued.pop("authorization_code", None)
    if body["grant_type"] == "provider_authorization_code":
        return {"grant_type": body["grant_type"], "provider": body["provider"], "authorization_code": code}
    return {**body, **issued}


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or case.meta.generation.mode.is_negative:
        return
    is_stateful = case.meta.phase.name == TestPhase.STATEFUL
    grant_type = case.body.get("grant_type", "") if isinstance(case.body, dict) else ""
    if case.operation.label == LINK and isinstance(case.body, dict) and one_of([True, False], case.body):
        issued = provider_credentials(case.body["provider"], f"linked-{next(people)}")
        code = issued.pop("authorization_code", None)
        case.body = {"provider": case.body["provider"], **({"authorization_code": code} if "authorization_code" in case.body else issued)}
    if case.operation.label == TOKEN and grant_type.startswith("provider_"):
        # The other half of the requests shows that made-up credentials are rejected.
        if is_stateful or one_of([True, False], case.body):
            case.body = with_issued_credential(case.body)
    if is_stateful:
        begin_anew(case)


@schemathesis.check
def ended_once(context, response, case):
    """What a person has ended is gone: the same request again is a 404."""
    if case.method == "DELETE" and case.path.startswith(f"{USER}/") and case.path_parameters and response.status_code == 204:
        with requests.Session() as session:
            again = session.send(response.request, timeout=30)
        assert again.status_code == 404, f"The same request again: {again.status_code}"


number = itertools.count()


def begin_anew(case):
    """
    Keeps what earlier scenarios left in the service from changing the outcome of this one. Otherwise the stateful
    phase ends as soon as the same request gets another status than before.
    """
    if "Idempotency-Key" in (case.headers or {}):
        case.headers = {**case.headers, "Idempotency-Key": f"scenario-{next(number)}"}
    if case.operation.label == REGISTER:
        case.body = {"device": {"platform": "android", "token": f"scenario-{next(number)}"}}
    if case.operation.label == END_SESSION:
        # The session of the link is that of another request. This person has two, and ends the other one.
        somebody = f"somebody-{next(people)}"
        log_in(somebody)
        token = log_in(somebody)
        case.headers = {name: token if name.startswith("Auth") else value for name, value in case.headers.items()}
        sessions = call(SESSIONS, token)["sessions"]
        case.path_parameters = {"session_id": next(one["id"] for one in sessions if not one["current"])}
    if case.operation.label == LIST:
        # Another scenario may have disabled it.
        register_device()
        call(RELATE, LOGIN_USER_TOKEN, json={"device_id": DEVICE})
