"""May this tool run? Declared, configured, asked, granted; refused and logged."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from hermes_agent.config.settings import Verdict
from hermes_agent.safety.approvals import Answer, Question, call_digest
from hermes_agent.safety.permissions import Policy, Ruling, grant_key
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import CallFinished, Decided
from hermes_agent.types.tools import Capability, ToolSpec
from tests.harness.rig import Rig, call, calling, events, of, results, saying


class Somebody:
    """Answers what it is told to answer and remembers the questions."""

    def __init__(self, *answers: Answer, seconds: float = 0.0) -> None:
        self.questions: list[Question] = []
        self._answers = list(answers)
        self._seconds = seconds

    async def approve(self, questions: Sequence[Question]) -> Sequence[Answer]:
        self.questions += questions
        await asyncio.sleep(self._seconds)
        return [self._answers.pop(0) for _ in questions]

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        return None


def tool(log: list[str], name: str = "act", capabilities: Sequence[str] | None = None) -> Tool:
    def run(text: str = "") -> str:
        """Act."""
        log.append(text)
        return "acted"

    return Tool(name, run, capabilities=capabilities, effect="none")


def spec(*capabilities: str, declared: bool = True) -> ToolSpec:
    return ToolSpec(
        name="act",
        description="",
        parameters={},
        capabilities=frozenset(map(Capability, capabilities)) if declared else None,
    )


@pytest.mark.req("R3")
def test_the_strictest_rule_decides() -> None:
    policy = Policy(
        {Capability.FILES_READ: Verdict.ALLOW, Capability.SHELL: Verdict.ASK, Capability.NETWORK: Verdict.DENY}
    )
    allowed = Ruling(verdict=Verdict.ALLOW, reason="allowed by configuration")
    assert policy.judge(spec(), "s") == allowed
    assert policy.judge(spec("files.read"), "s") == allowed
    assert policy.judge(spec("files.read", "shell"), "s") == Ruling(verdict=Verdict.ASK, reason="act needs shell")
    assert policy.judge(spec("shell", "browser"), "s") == Ruling(verdict=Verdict.ASK, reason="act needs browser, shell")
    denied = Ruling(verdict=Verdict.DENY, reason="permissions.network is deny")
    assert policy.judge(spec("shell", "network"), "s") == denied
    undeclared = Ruling(verdict=Verdict.ASK, reason="act does not declare what it reaches")
    assert policy.judge(spec(declared=False), "s") == undeclared
    policy.vouch("act")
    assert policy.judge(spec("shell"), "s").verdict is Verdict.ALLOW
    assert policy.judge(spec("shell", "network"), "s") == denied
    assert policy.judge(spec(declared=False), "s") == undeclared
    policy.grant("s", "act")
    assert policy.judge(spec(declared=False), "s") == Ruling(verdict=Verdict.ALLOW, reason="granted for this session")
    assert policy.judge(spec(declared=False), "t") == undeclared
    assert policy.judge(spec("network"), "s") == denied


@pytest.mark.trunk
@pytest.mark.req("R3")
def test_a_denied_capability_is_refused_and_logged_and_the_agent_goes_on(rig: Rig) -> None:
    rig.configure(permissions={"network": "deny"})
    log: list[str] = []
    agent = rig.agent([calling(call("act")), saying("I may not")], [tool(log, capabilities=["network"])])
    result = agent.run("act")
    journal = events(agent, result)
    assert (result.answer, log) == ("I may not", [])
    assert of(Decided, journal) == [
        Decided(subject="permission", choice="refuse", reason="permissions.network is deny", call_id="call_0_0")
    ]
    assert of(CallFinished, journal) == [
        CallFinished(
            call_id="call_0_0",
            tool="act",
            status=of(CallFinished, journal)[0].status,
            text='{"error":"not permitted: permissions.network is deny"}',
            error="not_permitted",
        )
    ]
    assert results(agent, result) == [("call_0_0", "refused", "not_permitted")]


@pytest.mark.req("R3")
def test_with_nobody_to_ask_the_answer_is_no(rig: Rig) -> None:
    agent = rig.agent([calling(call("terminal", command="touch made")), saying("done")])
    result = agent.run("make it")
    assert results(agent, result) == [("call_0_0", "refused", "not_permitted")]
    assert list(rig.workspace.iterdir()) == []


@pytest.mark.req("R3")
def test_each_call_is_asked_about_until_the_session_is_granted(rig: Rig) -> None:
    person = Somebody(Answer.YES, Answer.NO, Answer.SESSION)
    texts = ["a", "b", "c", "d"]
    script = [calling(call("terminal", command=f"touch {text}")) for text in texts]
    script += [saying("done"), calling(call("terminal", command="touch e")), saying("more")]
    agent = rig.agent(script, approver=person)
    first = agent.run("write")
    assert [status for _, status, _ in results(agent, first)] == ["ok", "refused", "ok", "ok"]
    agent.run("more")
    assert sorted(path.name for path in rig.workspace.iterdir()) == ["a", "c", "d", "e"]
    assert len(person.questions) == 3
    assert person.questions[0] == Question(
        tool="terminal",
        arguments='{\n  "command": "touch a"\n}',
        reason="terminal needs shell: It runs touch, which may change files",
        workspace=str(rig.workspace),
        digest=call_digest("terminal", {"command": "touch a"}, rig.workspace),
    )
    asked = Somebody(Answer.NO)
    rig.agent([script[0], saying("done")], approver=asked).run("write in another session")
    assert len(asked.questions) == 1


@pytest.mark.req("R3")
def test_what_a_person_sees_hides_nothing(local_rig: Rig) -> None:
    person = Somebody(Answer.NO)
    command = "echo safe\u202e; rm -rf ~ #\u200b\x1b[2K\r\x07"
    agent = local_rig.agent([calling(call("terminal", command=command)), saying("done")], approver=person)
    agent.run("trick")
    (question,) = person.questions
    assert all(char == "\n" or char.isprintable() for char in question.arguments)
    assert "\\u{202e}" in question.arguments and "\\u{200b}" in question.arguments
    assert "\\u001b[2K\\r\\u0007" in question.arguments


@pytest.mark.req("R3")
def test_no_answer_in_time_is_no(local_rig: Rig) -> None:
    local_rig.configure(approvals={"timeout": 0.05})
    log: list[str] = []
    agent = local_rig.agent(
        [calling(call("act")), saying("done")], [tool(log)], approver=Somebody(Answer.YES, seconds=60)
    )
    result = agent.run("act")
    assert (results(agent, result), log) == ([("call_0_0", "refused", "not_permitted")], [])


@pytest.mark.req("R3")
def test_an_undeclared_tool_is_asked_about_and_a_declared_one_is_vouched_for(rig: Rig) -> None:
    log: list[str] = []
    person = Somebody(Answer.YES)
    tools = [tool(log, "undeclared"), tool(log, "declared", ["shell", "secrets"])]
    script = [calling(call("declared", text="d")), calling(call("undeclared", text="u")), saying("done")]
    result = (agent := rig.agent(script, tools, approver=person)).run("both")
    assert [status for _, status, _ in results(agent, result)] == ["ok", "ok"]
    assert (log, [question.tool for question in person.questions]) == (["d", "u"], ["undeclared"])
    assert person.questions[0].reason == "undeclared does not declare what it reaches"


@pytest.mark.req("R3")
def test_an_approval_is_bound_to_the_exact_call(local_rig: Rig) -> None:
    folder = local_rig.workspace
    digests = {
        call_digest("terminal", {"command": "ls"}, folder),
        call_digest("terminal", {"command": "ls "}, folder),
        call_digest("terminal", {"command": "ls"}, folder.parent),
        call_digest("process", {"command": "ls"}, folder),
    }
    assert len(digests) == 4
    one = call_digest("t", {"a": 1, "b": {"c": 2, "d": 3}}, folder)
    assert one == call_digest("t", {"b": {"d": 3, "c": 2}, "a": 1}, folder)


@pytest.mark.req("R3", "R14")
def test_a_tool_the_model_invents_is_an_error_and_nothing_runs(local_rig: Rig) -> None:
    agent = local_rig.agent([calling(call("format_disk", path="/")), saying("done")])
    result = agent.run("try")
    (done,) = of(CallFinished, events(agent, result))
    assert done.error == "unknown_tool"
    assert msgspec.json.decode(done.text)["error"].startswith("there is no tool 'format_disk'; ")


TERMINAL = ToolSpec(
    name="terminal",
    description="",
    parameters={},
    capabilities=frozenset((Capability.SHELL,)),
    unlocks={"network": Capability.NETWORK},
)
CONFINED = {Capability.SHELL: Verdict.CONFINED, Capability.NETWORK: Verdict.ASK}


@pytest.mark.req("R3")
def test_inside_a_sandbox_only_what_alarms_is_asked_about() -> None:
    policy = Policy(CONFINED, confined=lambda: True)

    def verdict(command: str, **more: bool) -> Verdict:
        return policy.judge(TERMINAL, "s", {"command": command, **more}).verdict

    for harmless in ("ls -la", "python3 build.py > log", "make test", "curl https://example.org"):
        assert verdict(harmless) is Verdict.ALLOW
    for alarming in (
        "rm -rf .",
        "r''m -r\\f ./*",
        "sh -c 'rm -rf ~'",
        "echo cm0gLXJmIC4K | base64 -d | sh",
        "sh <<< 'rm -rf .'",
        "sh <<EOF\nrm -rf .\nEOF",
        '$(printf "\\x72m") -rf .',
        "git push --force",
        "sudo true",
        "cat ~/.ssh/id_rsa",
        "echo x >> ~/.bashrc",
    ):
        assert verdict(alarming) is Verdict.ASK, alarming
    assert verdict("ls", network=True) is Verdict.ASK
    misplaced = Policy({Capability.NETWORK: Verdict.CONFINED}, confined=lambda: True)
    assert misplaced.judge(spec("network"), "s").verdict is Verdict.ASK, "a sandbox for commands confines no web tool"
    assert policy.judge(TERMINAL, "s", {"command": "rm -rf ."}).reason.startswith("terminal needs shell: ")


@pytest.mark.req("R3")
def test_without_a_sandbox_everything_that_does_more_than_read_is_asked_about() -> None:
    policy = Policy(CONFINED)
    commands = ("ls", "touch a", "make", "cat ~/.ssh/id_rsa")
    asked = [policy.judge(TERMINAL, "s", {"command": command}).verdict for command in commands]
    assert asked == [Verdict.ALLOW, Verdict.ASK, Verdict.ASK, Verdict.ASK]
    assert policy.judge(TERMINAL, "s", {}).verdict is Verdict.ASK


@pytest.mark.req("R3")
def test_a_grant_for_the_session_covers_commands_that_begin_alike() -> None:
    policy = Policy(CONFINED)
    policy.grant("s", grant_key(TERMINAL, {"command": "git commit -m one"}))

    def verdict(command: str, session: str = "s") -> Verdict:
        return policy.judge(TERMINAL, session, {"command": command}).verdict

    assert verdict("git commit -m two") is Verdict.ALLOW
    assert verdict("git commit -m two", "t") is Verdict.ASK
    assert verdict("git commit -m two && touch x") is Verdict.ASK
    assert verdict("git push") is Verdict.ASK
    assert verdict('git commit -m "$(rm -rf .)"') is Verdict.ASK
    assert grant_key(TERMINAL, {"command": "rm -rf ."}) == ""
    policy.grant("s", "")
    assert verdict("rm -rf .") is Verdict.ASK
