"""The text format of Prometheus, read back by the parser of its official client."""

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hermes_agent.observability.metrics import Metric, MetricType, Sample, render


def gauge(*samples: Sample, name: str = "hermes_x", text: str = "help") -> Metric:
    return Metric(name=name, type=MetricType.GAUGE, help=text, samples=samples)


def parsed(text: str) -> dict[str, tuple[str, str, dict[tuple[tuple[str, str], ...], float]]]:
    """Name to (type, help, values by labels)."""
    return {
        family.name: (
            family.type,
            family.documentation,
            {tuple(sorted(sample.labels.items())): sample.value for sample in family.samples},
        )
        for family in text_string_to_metric_families(text)
    }


@pytest.mark.req("H12")
def test_the_page_byte_for_byte() -> None:
    page = render(
        [
            gauge(Sample(value=0.5, labels={"model": "m", "family": "b"}), Sample(value=3, labels={"family": "a"})),
            Metric(name="hermes_y_total", type=MetricType.COUNTER, help="how many", samples=(Sample(value=1e12),)),
            gauge(name="hermes_empty", text="nothing yet"),
        ]
    )
    assert page == (
        "# HELP hermes_x help\n# TYPE hermes_x gauge\n"
        'hermes_x{family="a"} 3\nhermes_x{family="b",model="m"} 0.5\n'
        "# HELP hermes_y_total how many\n# TYPE hermes_y_total counter\nhermes_y_total 1000000000000\n"
        "# HELP hermes_empty nothing yet\n# TYPE hermes_empty gauge\n"
    )
    assert render([]) == ""


@pytest.mark.parametrize(
    "text",
    ['say "hi"', "back\\slash", "two\nlines", "\\n", "\\", "ünïcode 世界", "a,b=c{}", "", " ", '\\"', "tab\t"],
)
def test_labels_and_help_come_back(text: str) -> None:
    page = render([gauge(Sample(value=1, labels={"family": text}), text=f"x{text}x")])
    assert page.count("\n") == 3
    assert parsed(page) == {"hermes_x": ("gauge", f"x{text}x", {(("family", text),): 1.0})}


def test_what_cannot_be_sent_is_replaced() -> None:
    page = render([gauge(Sample(value=1, labels={"family": "nul\x00 cr\r lone\udc80"}))])
    assert parsed(page)["hermes_x"][2] == {(("family", "nul  cr  lone�"),): 1.0}


def test_numbers_come_back() -> None:
    values = [0.1, 1 / 3, 1e300, -5e-324, 0.0, 123456789.0, math.inf, -math.inf]
    page = render([gauge(*(Sample(value=value, labels={"n": str(n)}) for n, value in enumerate(values)))])
    assert list(parsed(page)["hermes_x"][2].values()) == values
    assert render([gauge(Sample(value=math.nan))]).endswith("hermes_x NaN\n")


@pytest.mark.parametrize(
    "metrics",
    [
        [gauge(name="1x")],
        [gauge(name="a b")],
        [gauge(name="a\n")],
        [gauge(name="")],
        [gauge(), gauge()],
        [gauge(Sample(value=1), Sample(value=2))],
        [gauge(Sample(value=1, labels={"__name__": "x"}))],
        [gauge(Sample(value=1, labels={"a-b": "x"}))],
        [gauge(Sample(value=1, labels={"a\n": "x"}))],
        [Metric(name="hermes_count", type=MetricType.COUNTER, help="")],
    ],
)
def test_what_the_format_cannot_carry_is_refused(metrics: list[Metric]) -> None:
    with pytest.raises(ValueError, match=r"hermes_|no name"):
        render(metrics)
