import pytest

from mooring.apiserver.request.negotiation import (
    JSON,
    META_V1,
    META_V1BETA1,
    DiscoveryForm,
    Form,
    SwaggerForm,
    What,
    accepts_gzip,
    discovery_form,
    negotiate,
    swagger_form,
)
from mooring.errors import NotAcceptable

TABLE = Form(What.TABLE, META_V1)
TABLE_BETA = Form(What.TABLE, META_V1BETA1)
KUBECTL_GET = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)

FORMS = {
    "no header is JSON": (None, JSON),
    "an empty header is JSON": ("", JSON),
    "JSON": ("application/json", JSON),
    "JSON in capitals": ("Application/JSON", JSON),
    "JSON with parameters that say nothing": ("application/json; charset=utf-8", JSON),
    "JSON as a watch stream": ("application/json;stream=watch", JSON),
    "anything": ("*/*", JSON),
    "anything, in short": ("*", JSON),
    "anything of an application": ("application/*", JSON),
    "kubectl get is a table": (KUBECTL_GET, TABLE),
    "the old table": ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", TABLE_BETA),
    "spaces around parameters": ("application/json ; as=Table ; v=v1 ; g=meta.k8s.io", TABLE),
    "typed client: protobuf cannot be served, JSON behind it can": (
        "application/vnd.kubernetes.protobuf,application/json",
        JSON,
    ),
    "metadata client, one object": (
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        Form(What.PARTIAL, META_V1),
    ),
    "metadata client, a list": (
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        Form(What.PARTIAL_LIST, META_V1),
    ),
    "a view nobody knows is passed over": (
        "application/json;as=Poem;v=v1;g=meta.k8s.io,application/json",
        JSON,
    ),
    "a stream nobody knows is passed over": (
        f"application/json;stream=tape,{KUBECTL_GET}",
        TABLE,
    ),
    "the higher quality wins over the order": (
        "application/json;q=0.5,application/json;as=Table;v=v1;g=meta.k8s.io",
        TABLE,
    ),
    "an exact type wins over a wildcard of the same quality": (
        "*/*,application/json;as=Table;v=v1;g=meta.k8s.io",
        TABLE,
    ),
    "a browser gets JSON": ("text/html,*/*;q=0.1", JSON),
    "a header sent twice is one header": ("text/html\napplication/json", JSON),
}


@pytest.mark.parametrize(("accept", "form"), FORMS.values(), ids=FORMS)
def test_form(accept: str | None, form: Form) -> None:
    assert negotiate(accept) == form


REFUSED = {
    "protobuf alone": "application/vnd.kubernetes.protobuf",
    "a page": "text/html",
    "a view nobody knows alone": "application/json;as=Poem;v=v1;g=meta.k8s.io",
    "a table of a version that never was": "application/json;as=Table;v=v2;g=meta.k8s.io",
    "a table of no group": "application/json;as=Table;v=v1",
    "JSON that is not wanted": "application/json;q=0",
    "a quality that is no number": "application/json;q=high",
    "a type without a subtype": "json",
}


@pytest.mark.parametrize("accept", REFUSED.values(), ids=REFUSED)
def test_refused(accept: str) -> None:
    with pytest.raises(NotAcceptable) as refusal:
        negotiate(accept)
    assert refusal.value.code == 406
    assert refusal.value.message == "only the following media types are accepted: application/json"


def test_the_answer_to_a_known_header_is_the_same_object() -> None:
    assert negotiate(KUBECTL_GET) is negotiate(KUBECTL_GET)


DISCOVERY = {
    "no header": (None, DiscoveryForm.PLAIN),
    "kubectl 1.20": ("application/json, */*", DiscoveryForm.PLAIN),
    "kubectl 1.28 asks for a version that is gone, then plain": (
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
        DiscoveryForm.PLAIN,
    ),
    "kubectl 1.35": (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,"
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
        DiscoveryForm.AGGREGATED,
    ),
}


@pytest.mark.parametrize(("accept", "form"), DISCOVERY.values(), ids=DISCOVERY)
def test_discovery_form(accept: str | None, form: DiscoveryForm) -> None:
    assert discovery_form(accept) is form


def test_discovery_in_an_unknown_form_alone_is_refused() -> None:
    with pytest.raises(NotAcceptable):
        discovery_form("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList")


SWAGGER = {
    "no header": (None, SwaggerForm.JSON),
    "JSON": ("application/json", SwaggerForm.JSON),
    "anything": ("*/*", SwaggerForm.JSON),
    "kubectl": (
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        SwaggerForm.PROTOBUF,
    ),
    "protobuf by the name it is answered with": (
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        SwaggerForm.PROTOBUF,
    ),
}


@pytest.mark.parametrize(("accept", "form"), SWAGGER.values(), ids=SWAGGER)
def test_swagger_form(accept: str | None, form: SwaggerForm) -> None:
    assert swagger_form(accept) is form


def test_swagger_in_an_unknown_form_is_refused() -> None:
    with pytest.raises(NotAcceptable):
        swagger_form("text/html")


GZIP = {
    "no header": (None, False),
    "gzip": ("gzip", True),
    "gzip among others": ("deflate, gzip;q=0.5, br", True),
    "gzip explicitly not": ("gzip;q=0, br", False),
    "only others": ("br", False),
}


@pytest.mark.parametrize(("accept_encoding", "accepted"), GZIP.values(), ids=GZIP)
def test_gzip(accept_encoding: str | None, accepted: object) -> None:
    assert accepts_gzip(accept_encoding) is accepted
