from tests.harness.test_learning_in_runs import *
from tests.harness.rig import local_rig, rig
def test_x(local_rig: Rig) -> None:
    died_before_learning(local_rig, "日本")
    agent = local_rig.agent([saying("hello")])
    r = agent.run("hello")
    print(events(agent, r))
    assert 0
