"""Skills in four more fields, as in `alike_skills`, on which nothing was chosen."""

from __future__ import annotations

from tests.learning.alike_skills import Field, sample

_GIT = Field(
    sample(
        "git-rebase-feature",
        "Rebase a feature branch on main and resolve conflicts without losing work.",
        "rebase my branch; branch is behind main",
        """Commit or stash everything; make a backup branch.
        Fetch, then rebase on origin/main.
        For each conflict read both sides and the commit messages; keep the intent of both.
        Run the tests after the last commit was applied.
        Compare with the backup branch and push with --force-with-lease.""",
    ),
    sample(
        "git-rebase-feature-branch-2",
        "Rebase a feature branch on main and resolve conflicts without losing any work.",
        "rebase my branch; branch is behind main",
        """Commit or stash everything; make a backup branch.
        Fetch, then rebase on origin/main.
        For each conflict read both sides and the commit messages; keep the intent of both.
        Run the tests after the last commit was applied.
        Compare with the backup branch and push with --force-with-lease. Never use --force.""",
    ),
    sample(
        "bring-branch-up-to-date",
        "Bring a git branch up to date with main by rebasing, with a backup and careful conflict resolution.",
        "update my feature branch; conflicts while rebasing",
        """Create a backup branch first and stash local changes.
        Fetch origin and rebase the branch onto main.
        Resolve every conflict by understanding what both commits wanted.
        Execute the test suite when the rebase is finished.
        Diff against the backup and push with lease.""",
    ),
    (
        sample(
            "git-bisect",
            "Find the commit that introduced a bug.",
            "which commit broke it; regression",
            """Write a script that exits with 1 when the bug is there.
            Mark a good and a bad commit and let bisect run the script.
            Show the first bad commit with its diff.
            Reset the bisect state.""",
        ),
        sample(
            "release-notes",
            "Write release notes from the commits since the last tag.",
            "write release notes; changelog",
            """List commits since the last tag with their pull requests.
            Sort into added, changed, fixed; leave out internal work.
            One line each, in the words of users.
            Name breaking changes first, with what to do.""",
        ),
    ),
)
_SQL = Field(
    sample(
        "slow-query",
        "Find out why a SQL query is slow and make it faster.",
        "query is slow; database takes long",
        """Run EXPLAIN ANALYZE on a copy of the database.
        Look for sequential scans over large tables and for wrong row estimates.
        Propose an index that covers the filter and the join column.
        Measure before and after with a warm cache, three times each.
        Say what the index costs on writes.""",
    ),
    sample(
        "slow-query-orders",
        "Find out why a SQL query is slow and make it faster.",
        "query is slow; database takes long",
        """Run EXPLAIN ANALYZE on a copy of the database.
        Look for sequential scans over large tables and for wrong row estimates.
        Propose an index that covers the filter and the join column.
        Measure before and after with a warm cache, five times each.
        Say what the index costs on inserts.""",
    ),
    sample(
        "optimise-postgres-query",
        "Speed up a slow database query with the query plan and indexes.",
        "this sql takes too long; tune a query",
        """Get the query plan with EXPLAIN on test data.
        Find table scans on big tables and estimates of rows that are far off.
        Suggest an index for the columns in joins and filters.
        Time the query before and after the index.
        Mention how the index slows down writes.""",
    ),
    (
        sample(
            "database-backup",
            "Dump a database and prove that the dump can be restored.",
            "back up the database; restore test",
            """Dump with pg_dump in the custom format to a dated file.
            Restore it into an empty database.
            Compare the number of rows of each table.
            Delete the test database and dumps older than 30 days.""",
        ),
        sample(
            "schema-tour",
            "Explain the schema of an unknown database.",
            "what tables are there; explain the schema",
            """List tables with their sizes and the number of rows.
            Draw foreign keys as a list of arrows.
            Take three rows of each large table as examples, without personal data.
            Say which tables are the heart of it and which are empty.""",
        ),
    ),
)
_IMAGES = Field(
    sample(
        "resize-photos",
        "Make a folder of photos smaller for the web without changing the originals.",
        "resize images; make pictures smaller",
        """List the pictures with their sizes in pixels.
        Write copies into a folder beside the originals, longest side 1600 pixels.
        Keep the orientation, drop the location from the metadata.
        Save as JPEG with quality 85.
        Report the size of the folder before and after.""",
    ),
    sample(
        "resize-photos-new",
        "Make a folder of photos smaller for the web without changing the originals.",
        "resize images; make pictures smaller; shrink photos",
        """List the pictures with their sizes in pixels.
        Write copies into a folder beside the originals, longest side 1200 pixels.
        Keep the orientation, drop the location from the metadata.
        Save as JPEG with quality 80.
        Report the size of the folder before and after.""",
    ),
    sample(
        "shrink-pictures-for-web",
        "Shrink images of a directory into small copies for a website; originals stay untouched.",
        "scale down pictures; thumbnails for the website",
        """Find all images and note their resolution.
        Create scaled copies in another directory; the long edge at most 1600 px.
        Preserve rotation and strip GPS metadata.
        Export JPEG files at a quality of 85.
        State how much smaller the copies are.""",
    ),
    (
        sample(
            "sort-photos-by-date",
            "Move photos into folders by the day on which they were taken.",
            "sort my photos; organise pictures",
            """Read the date of each picture from its metadata, else from the name.
            Propose the folders and how many pictures go where.
            Move after approval; never overwrite a file with the same name.
            List those without any date.""",
        ),
    ),
)
_HOLIDAY = Field(
    sample(
        "flight-search",
        "Find and compare flights between two cities on given days.",
        "find a flight; cheapest flight",
        """Ask for the days, the luggage and how many stops are acceptable.
        Search both airports of a city where there are two.
        Compare the whole price with luggage and seat.
        Show three: cheapest, fastest, best of both.
        Book only after explicit approval.""",
    ),
    sample(
        "flight-search-paris",
        "Find and compare flights between two cities on given days.",
        "find a flight; cheapest flight; flight to paris",
        """Ask for the days, the luggage and how many stops are acceptable.
        Search both airports of a city where there are two.
        Compare the whole price with luggage and seat.
        Show three: cheapest, fastest, best of both.
        Book only after explicit approval of the price.""",
    ),
    sample(
        "compare-airfares",
        "Search airlines for a trip and compare the fares with all extras.",
        "cheap airfare; which airline should I take",
        """Clarify travel days, bags and the number of stops.
        Look at every airport near the departure and the destination.
        Add luggage and seat to the fare before comparing prices.
        Present the cheapest, the fastest and a compromise.
        Never book a ticket without approval.""",
    ),
    (
        sample(
            "packing-list",
            "Write a packing list for a trip.",
            "what to pack; packing list",
            """Look up the weather of the destination for those days.
            Count days and plan laundry after a week.
            Put documents and medicine first.
            Fit the list to hand luggage when there is no other.""",
        ),
        sample(
            "hotel-search",
            "Find a hotel near a place for given nights.",
            "find a hotel; where to stay",
            """Ask for nights, people and the most it may cost.
            Search within walking distance of the place.
            Read the worst reviews first.
            Show three with the whole price and the terms of cancellation.""",
        ),
    ),
)

HELD_OUT = (_GIT, _SQL, _IMAGES, _HOLIDAY)
