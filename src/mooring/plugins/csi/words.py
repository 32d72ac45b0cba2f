"""How this plugin begins its sentences, as Kubernetes' users know them."""

from mooring.model.wellknown import Plugin


def said(text: str) -> str:
    return f"{Plugin.CSI}: {text}"
