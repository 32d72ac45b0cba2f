"""What containers are told: their variables, their files, their users; and what is missing."""

from tests.fakes.objects import CONFIG_MAPS, PODS, SECRETS, a_config_map, a_secret
from tests.scenarios.pods.cluster import Cluster, a_container, a_pod


def variables(cluster: Cluster, name: str = "main") -> dict[str, str]:
    return dict(line.split("=", 1) for line in cluster.spec(name).environment)


async def test_variables_from_everywhere(cluster: Cluster) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map("settings", colour="blue"))
    await cluster.create(SECRETS, a_secret("password"))
    container = a_container(
        env=[
            {"name": "PLAIN", "value": "one"},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {
                "name": "LIMIT",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
            },
            {
                "name": "COLOUR",
                "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}},
            },
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "password", "key": "key"}}},
            {"name": "BOTH", "value": "$(PLAIN) and $(COLOUR), $(NOT) $$(PLAIN)"},
        ],
        envFrom=[{"prefix": "MY_", "configMapRef": {"name": "settings"}}],
        command=["say", "$(BOTH)"],
    )
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", container))
        found = variables(cluster)
        assert found["NODE"] == "n1"
        assert found["ADDRESS"] == "10.0.0.7"
        assert found["LIMIT"] == "8192"  # what the node has, for want of a limit
        assert (found["COLOUR"], found["KEY"], found["MY_colour"]) == ("blue", "value", "blue")
        assert found["BOTH"] == "one and blue, $(NOT) $(PLAIN)"
        assert found["KUBERNETES_SERVICE_HOST"] == "10.0.0.1"
        assert found["KUBERNETES_SERVICE_PORT"] == "6443"
        assert found["PATH"] == "/bin"  # the image's
        assert cluster.spec().args == ("say", "one and blue, $(NOT) $(PLAIN)")


async def test_what_a_variable_needs_is_waited_for(cluster: Cluster) -> None:
    ref = {"configMapKeyRef": {"name": "settings", "key": "colour"}}
    container = a_container(env=[{"name": "COLOUR", "valueFrom": ref}])
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", container))
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting == {
            "reason": "CreateContainerConfigError",
            "message": 'configmap "settings" not found',
        }
        await cluster.create(CONFIG_MAPS, a_config_map("settings", shape="round"))
        await cluster.passes(15)
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting["message"] == "couldn't find key colour in ConfigMap default/settings"
        await cluster.patch(CONFIG_MAPS, "settings", {"data": {"colour": "red"}})
        await cluster.passes(15)
        assert variables(cluster)["COLOUR"] == "red"


async def test_what_need_not_be_there(cluster: Cluster) -> None:
    ref = {"secretKeyRef": {"name": "password", "key": "no", "optional": True}}
    container = a_container(
        env=[{"name": "KEY", "valueFrom": ref}],
        envFrom=[{"configMapRef": {"name": "settings", "optional": True}}],
    )
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", container))
        assert "KEY" not in variables(cluster)


async def test_files_that_every_container_has(cluster: Cluster) -> None:
    aliases = [{"ip": "10.1.1.1", "hostnames": ["db", "cache"]}]
    async with cluster.node():
        await cluster.create(PODS, a_pod(hostAliases=aliases))
        binds = {bind.target: bind.source for bind in cluster.spec().binds}
        assert list(binds) == [
            "/etc/hosts",
            "/etc/hostname",
            "/etc/resolv.conf",
            "/dev/termination-log",
        ]
        assert binds["/etc/hostname"].read_text() == "web\n"
        hosts = binds["/etc/hosts"].read_text()
        assert hosts.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
        assert hosts.endswith(
            "10.0.0.7\tweb\n\n# Entries added by HostAliases.\n10.1.1.1\tdb\tcache\n"
        )


async def test_the_termination_message_of_a_container(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(restartPolicy="Never"))
        binds = {bind.target: bind.source for bind in cluster.spec().binds}
        binds["/dev/termination-log"].write_text("out of ideas")
        await cluster.finish(code=1)
        ended = (await cluster.container())["state"]["terminated"]
        assert ended["message"] == "out of ideas"
        assert not cluster.layout.pod(await cluster.uid()).exists()
    async with cluster.node():
        assert (await cluster.container())["state"]["terminated"] == ended


async def test_the_last_lines_of_its_log_will_do(cluster: Cluster) -> None:
    container = a_container(terminationMessagePolicy="FallbackToLogsOnError")
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", container, restartPolicy="Never"))
        cluster.found().log_path.write_text(
            "2026-01-02T03:04:05.0Z stdout F first\n2026-01-02T03:04:06.0Z stderr F last\n"
        )
        await cluster.finish(code=1)
        assert (await cluster.container())["state"]["terminated"]["message"] == "first\nlast\n"


async def test_as_whom_it_runs(cluster: Cluster) -> None:
    security = {"runAsUser": 1000, "fsGroup": 2000, "supplementalGroups": [3000]}
    container = a_container(securityContext={"runAsGroup": 4000, "privileged": True})
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", container, securityContext=security))
        user = cluster.spec().user
        assert (user.uid, user.gid, user.groups) == (1000, 4000, (2000, 3000))
        assert cluster.spec().privileges.is_privileged


async def test_root_is_not_wanted(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod(securityContext={"runAsNonRoot": True}))
        uid = await cluster.uid()
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting == {
            "reason": "CreateContainerConfigError",
            "message": "container has runAsNonRoot and image will run as root "
            f'(pod: "web_default({uid})", container: main)',
        }


async def test_containers_that_share_their_processes(cluster: Cluster) -> None:
    pod = a_pod("web", a_container("one"), a_container("two"), shareProcessNamespace=True)
    async with cluster.node():
        await cluster.create(PODS, pod)
        assert cluster.spec("one").join_pid_of == ""
        assert cluster.spec("two").join_pid_of == cluster.runtime.id_of("one")
