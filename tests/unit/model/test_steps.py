"""Plans: a reason, and steps in the order in which they are to be taken."""

from mooring.model.steps import Fail, plan


def test_steps_keep_their_order() -> None:
    made = plan("why not", Fail("first"), Fail("second"))
    assert (made.because, made.steps) == ("why not", (Fail("first"), Fail("second")))


def test_a_plan_may_be_to_do_nothing() -> None:
    assert plan("all is well").steps == ()
