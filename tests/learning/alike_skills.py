"""Skills as a review would write them, in fields of work. In each field the first is told again: `same` (the words
hardly differ), `retold` (the same work in other words); the `others` are different work of the same field.

The weights of `learning.overlaps` were chosen on these; `held_out_skills` was looked at only after that.
"""

from __future__ import annotations

from typing import NamedTuple

from hermes_agent.skills.skill import Skill


class Field(NamedTuple):
    first: Skill
    same: Skill
    retold: Skill
    others: tuple[Skill, ...]


def sample(name: str, description: str, triggers: str, steps: str) -> Skill:
    """A skill of numbered steps."""
    numbered = "\n".join(f"{place}. {step.strip()}" for place, step in enumerate(steps.strip().splitlines(), 1))
    body = f"# {name.replace('-', ' ').capitalize()}\n\n## Steps\n{numbered}\n"
    return Skill(
        name=name, description=description, body=body, triggers=tuple(part.strip() for part in triggers.split(";"))
    )


_CSV = Field(
    sample(
        "csv-totals",
        "Sum a column of a CSV file by group. Use when totals per customer, month or product are wanted.",
        "sum a csv column; totals per customer",
        """Read the first five lines to learn the delimiter and the header.
        Load the file with pandas and name the column to group by.
        Convert the amount column to numbers; report the rows that cannot be converted.
        Group, sum, and sort from the largest to the smallest.
        Check that the grand total equals the sum of the groups.""",
    ),
    sample(
        "csv-totals-2024-06",
        "Sum a column of a CSV file by group. Use when totals per customer or product are wanted.",
        "sum a csv column; totals per product",
        """Read the first ten lines to learn the delimiter and the header.
        Load the file with pandas and name the column to group by.
        Convert the amount column to numbers; report the rows that cannot be converted.
        Group, sum, and sort from the largest to the smallest.
        Check that the grand total equals the sum of the groups.""",
    ),
    sample(
        "aggregate-spreadsheet-columns",
        "Aggregate the amounts of a spreadsheet or CSV table per category and rank them.",
        "total up this table; how much per customer",
        """Look at the header row and find out which separator the table uses.
        Open the CSV as a dataframe; pick the key column.
        Turn amounts into numeric values and list the rows where that fails.
        Add up the values of each key and rank the totals in descending order.
        Compare the overall sum with the sum over all keys before answering.""",
    ),
    (
        sample(
            "csv-clean",
            "Clean a CSV file: trim spaces, drop duplicate rows, fix dates.",
            "clean this csv; remove duplicate rows",
            """Copy the file before anything is changed.
            Strip white space of every cell.
            Drop rows that are the same in all columns and say how many.
            Write dates as ISO 8601; leave those alone that are ambiguous and list them.
            Save with the same delimiter and line endings.""",
        ),
        sample(
            "csv-plot",
            "Draw a chart from a CSV file and save it as a picture.",
            "plot this csv; chart of sales over time",
            """Find the column for the x axis; parse it as dates where it is one.
            Choose lines for time series and bars for categories.
            Label both axes with units.
            Save as PNG with 150 dpi and say where.
            Look at the picture before answering.""",
        ),
    ),
)
_TESTS = Field(
    sample(
        "pytest-failure-triage",
        "Find out why a pytest suite is red and fix the cause, not the test.",
        "tests fail; the suite is red; fix failing tests",
        """Run pytest with -x -q and read the first failure only.
        Run that one test alone; when it passes alone, look for shared state or order.
        Read the assertion, then the code under test, then the last commits that touched it.
        Change the code, not the assertion, unless the assertion contradicts the documentation.
        Run the one test, then its file, then the whole suite.""",
    ),
    sample(
        "pytest-failures-triage-v2",
        "Find out why a pytest suite is red and fix the cause rather than the test.",
        "tests fail; the suite is red; fix failing tests",
        """Run pytest with -x -q and read the first failure only.
        Run that one test alone; when it passes alone, look for shared state or order.
        Read the assertion, then the code under test, then the last commits that touched it.
        Change the code and not the assertion, unless the assertion contradicts the documentation.
        Run the one test, then its file, then the whole suite. Say what the cause was.""",
    ),
    sample(
        "debug-broken-python-tests",
        "Debug failing Python tests until the suite is green, by correcting the code.",
        "pytest is failing; repair broken tests",
        """Start the test suite and stop at the first failing test.
        Repeat that test on its own to see whether it depends on others.
        Compare the failed assertion with the function it calls and with recent commits.
        Correct the function; touch the test only where it is plainly wrong.
        Execute the test again and afterwards all tests.""",
    ),
    (
        sample(
            "pytest-coverage",
            "Raise the coverage of a Python module with new tests.",
            "increase coverage; untested code",
            """Run the suite with --cov and list the lines that no test reaches.
            Take branches that handle errors first.
            Write one test for each behaviour, with real files in a temporary folder.
            Prove that each new test can fail by breaking the code once.
            Report the coverage before and after.""",
        ),
        sample(
            "pytest-speed",
            "Make a slow test suite faster without dropping tests.",
            "tests are slow; suite takes too long",
            """Run with --durations=20 and note the sum of the slowest.
            Find fixtures that are built for each test and could be shared.
            Replace sleeps by waiting for the condition.
            Measure again on the same machine and report both times.""",
        ),
    ),
)
_DEPLOY = Field(
    sample(
        "deploy-service",
        "Deploy a service to the cluster with a rolling restart and a way back.",
        "deploy the service; roll out a new version",
        """Check that the image of this tag is in the registry.
        Note the revision that runs now, for going back.
        Set the image on the deployment and watch the rollout until all pods are ready.
        Call the health address from inside the cluster three times.
        When anything fails, undo the rollout to the noted revision and show the logs.""",
    ),
    sample(
        "deploy-service-eu-2",
        "Deploy a service to the cluster with a rolling restart and a way back.",
        "deploy the service; roll out a version",
        """Check that the image of this tag is in the registry.
        Note the revision that runs now, for going back.
        Set the image on the deployment and watch the rollout until all pods are ready.
        Call the health address from inside the cluster five times.
        When anything fails, undo the rollout to the noted revision and show the logs.""",
    ),
    sample(
        "kubernetes-rollout",
        "Ship a new container version to Kubernetes gradually and return to the old one when it is unhealthy.",
        "release to the cluster; redeploy a container",
        """Make sure the container image exists before touching the deployment.
        Write down the current revision of the deployment.
        Update the image, then follow the rollout status until every replica is up.
        Probe the health endpoint of the service.
        If pods crash, roll back to the former revision and read their logs.""",
    ),
    (
        sample(
            "cluster-logs",
            "Read the logs of a crashed pod and name the cause.",
            "why did the pod crash; show container logs",
            """List the pods that are not ready, with their restarts.
            Read the log of the container before its last restart.
            Look for out-of-memory in the description of the pod.
            Put the first error, not the last, into the answer.""",
        ),
        sample(
            "certificate-renewal",
            "Renew a TLS certificate of a server before it expires.",
            "certificate expires; renew tls",
            """Read the end date with openssl from the running server.
            Ask the authority for a new one with the same names.
            Install key and chain with permissions for the service's user only.
            Reload the server, and read the end date again from outside.""",
        ),
    ),
)
_MAIL = Field(
    sample(
        "overdue-invoice-reminder",
        "Remind customers of overdue invoices by mail, politely and only once a week.",
        "send payment reminders; unpaid invoices",
        """Load the list of invoices and keep those past their due date.
        Leave out customers who were written to within seven days.
        Draft one mail per customer with all open invoices, amounts and due dates.
        Show the drafts and wait for approval.
        Send them and note the date beside each invoice.""",
    ),
    sample(
        "overdue-invoices-reminder-may",
        "Remind customers of overdue invoices by mail, politely and at most once a week.",
        "send payment reminders; unpaid invoices",
        """Load the list of invoices and keep those past their due date.
        Leave out customers who were written to within seven days.
        Draft one mail per customer with all open invoices, amounts and due dates.
        Show the drafts and wait for approval before sending.
        Send them and note the date beside each invoice.""",
    ),
    sample(
        "dunning-letters",
        "Write letters to customers whose bills are unpaid after the due date.",
        "chase late payers; remind about unpaid bills",
        """Filter the bills for those that are unpaid and late.
        Skip every customer who got a reminder in the last week.
        Compose one email for each customer that lists the open bills with amount and due date.
        Ask for approval of the drafts before anything is sent.
        After sending, record the day of the reminder.""",
    ),
    (
        sample(
            "inbox-digest",
            "Summarise the unread mail of a day in ten lines.",
            "summarise my inbox; what mail came today",
            """Fetch unread messages of the last day, newest first.
            Group them by thread; drop newsletters.
            One line for each thread: who wants what until when.
            Put what needs an answer first.""",
        ),
        sample(
            "invoice-entry",
            "Enter a scanned invoice into the books.",
            "book this invoice; enter a bill",
            """Read supplier, number, date, net, tax and total from the document.
            Check that net plus tax is the total.
            Look whether this number was entered before.
            Write one line into the ledger and file the scan under its number.""",
        ),
    ),
)
CHOSEN_ON = (_CSV, _TESTS, _DEPLOY, _MAIL)
