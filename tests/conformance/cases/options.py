"""Query parameters of writes: dry runs, managers, validation, time-outs."""

from tests.conformance.asking import Cases, apply, delete, get, merge, post, put
from tests.conformance.cases.objects import CONFIG_MAP, CONFIG_MAPS, named

ONE = named(CONFIG_MAPS, CONFIG_MAP)

_ODD: dict[str, str] = {
    "a dry run of some": "dryRun=Some",
    "a dry run of all, twice": "dryRun=All&dryRun=All",
    "a dry run of all and some": "dryRun=All&dryRun=Some",
    "an empty dry run": "dryRun=",
    "an unknown validation": "fieldValidation=Odd",
    "an empty validation": "fieldValidation=",
    "a long manager": f"fieldManager={'m' * 129}",
    "a manager that does not print": "fieldManager=a%0Ab",
    "a manager of many bytes": "fieldManager=" + "%C3%A9" * 65,
    "a time-out": "timeout=5s",
    "a time-out that is none": "timeout=soon",
    "a time-out without a unit": "timeout=5",
    "force": "force=true",
    "parameters nobody knows": "odd=1&pretty=false",
    "several things wrong": "dryRun=Some&fieldValidation=Odd&fieldManager=a%0Ab",
}

CASES: Cases = {
    **{
        f"written with {words}": (
            post(f"{CONFIG_MAPS}?{query}", CONFIG_MAP),
            put(f"{ONE}?{query}", CONFIG_MAP),
            merge(f"{ONE}?{query}", {"data": {"a": "b"}}),
            delete(f"{ONE}?{query}"),
        )
        for words, query in _ODD.items()
    },
    "a dry run leaves everything as it was": (
        post(CONFIG_MAPS, CONFIG_MAP),
        put(f"{ONE}?dryRun=All", {**CONFIG_MAP, "data": {"other": "x"}}),
        merge(f"{ONE}?dryRun=All", {"data": {"more": "y"}}),
        apply(f"{ONE}", "m", {**CONFIG_MAP, "data": {"key": "value"}}),
        delete(f"{ONE}?dryRun=All"),
        get(ONE),
        post(f"{CONFIG_MAPS}?dryRun=All", CONFIG_MAP),
    ),
    "an apply without a manager": (
        merge(f"{ONE}?fieldManager=", {}),
        apply(ONE, "", CONFIG_MAP),
        apply(ONE, "m" * 129, CONFIG_MAP),
    ),
}
