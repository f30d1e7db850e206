"""What this driver is, and the sidecar of a workload. All of it is data: the same context gives the same patch."""

import json
from typing import Any

from osm.driver.v1 import driver_pb2

from .refusal import Refusal

NAME = "python"
# Oldest and newest version of the contract that this driver supports.
CONTRACTS = (1, 1)
PROXY_UID = 1500

# What the proxy enforces, and nothing beyond it: the mesh refuses or reports whatever is not declared here.
CAPABILITIES = driver_pb2.Capabilities(
    protocols=[driver_pb2.PROTOCOL_TCP],
    upstream_identity=driver_pb2.UPSTREAM_IDENTITY_PRINCIPAL,
    modes=[driver_pb2.PROXY_MODE_EXPLICIT],
    standalone=True,
    ip_families=[driver_pb2.IP_FAMILY_IPV4],
    operating_systems=[driver_pb2.OPERATING_SYSTEM_LINUX],
)

# Of sidecarDrivers[].config; fields that it does not describe are refused.
CONFIG_SCHEMA = {"type": "object", "additionalProperties": False, "properties": {}}


def patch(context: dict[str, Any]) -> dict[str, Any]:
    """SidecarPatch for an InjectorContext. Raises Refusal for what cannot be served."""
    admin = context["listen"].get("admin")
    if context["podOS"] != "linux":
        raise Refusal("OSM_DRIVER_PATCH", f"{NAME} runs on linux, not on {context['podOS']}")
    if context["interceptionMode"] != "none":
        raise Refusal("OSM_DRIVER_PATCH", f"{NAME} takes no redirected connections")
    if admin is None:
        raise Refusal("OSM_DRIVER_PATCH", "the host gave no address for administration")
    if context["sidecarImage"] == "":
        raise Refusal("OSM_DRIVER_PATCH", f"there is no image for class {NAME}")
    control_plane = context["controlPlane"]
    config = {
        # JSON keeps their content from becoming something else. No text of users belongs into args.
        "identity": _identity(context),
        "controlPlane": {name: control_plane[name] for name in ("address", "port", "serverName")},
        "admin": {name: admin[name] for name in ("address", "port")},
    }
    return {
        "sidecar": {
            "image": context["sidecarImage"],
            "binary": "osm-python-sidecar",
            "args": ["--config", [{"ref": "file", "path": "config.json"}], "--key", [{"ref": "file", "path": "proxy.key"}]],
            "env": [],
            "ports": [],
            "resources": context["resources"],
            "security": {"runAsUser": PROXY_UID, "readOnlyRootFilesystem": True},
        },
        "files": [
            {"path": "config.json", "content": {"text": json.dumps(config)}},
            # Keys are references that the mesh fills in.
            {"path": "proxy.crt", "content": {"from": "bootstrap.chain"}},
            {"path": "proxy.key", "content": {"from": "bootstrap.key"}},
            {"path": "roots.crt", "content": {"from": "trustBundle"}},
        ],
        "ready": {"http": {"port": admin["port"], "path": "/ready", "status": 200}, "periodMs": 1000},
        "quit": {"kind": "signal", "signal": "SIGTERM"},
        "admin": {"port": admin["port"]},
        "annotations": {},
        "initContainers": [],
        "volumes": [],
    }


def _identity(context: dict[str, Any]) -> str:
    """`<service account>.<namespace>` from the common name of the sidecar's certificate."""
    name = context["proxyCommonName"]
    prefix, suffix = f"{context['proxyUUID']}.sidecar.", f".{context['configurator']['trustDomain']}"
    if not name.startswith(prefix) or not name.endswith(suffix):
        raise Refusal("OSM_DRIVER_PATCH", f"the proxy's name {name} is not {prefix}<identity>{suffix}")
    return name[len(prefix) : -len(suffix)]
