"""Threads for races: let go together, each with a connection of its own."""

import threading


class Crew:
    """Threads that keep their connections from race to race: opening one is slower than a race."""

    def __init__(self, size):
        self.size = size
        self.works, self.results = [], []
        self.begin, self.end = threading.Barrier(size + 1), threading.Barrier(size + 1)
        self.threads = [threading.Thread(target=self._serve, args=(place,), daemon=True) for place in range(size)]
        for thread in self.threads:
            thread.start()

    def race(self, *works):
        """What each work gave or raised; all are let go together."""
        assert len(works) == self.size
        self.works, self.results = works, [None] * self.size
        self.begin.wait()
        self.end.wait()
        return self.results

    def dismiss(self):
        self.works = None
        self.begin.wait()
        for thread in self.threads:
            thread.join()

    def _serve(self, place):
        from django.db import connection

        try:
            while True:
                self.begin.wait()
                if self.works is None:
                    return
                try:
                    self.results[place] = self.works[place]()
                except Exception as error:  # noqa: BLE001  the test looks at it
                    self.results[place] = error
                self.end.wait()
        finally:
            connection.close()


def hiring():
    """For a fixture: `hire(size)` gives so many threads, and all are gone before the tables are emptied."""
    crews = []

    def hire(size):
        crews.append(Crew(size))
        return crews[-1]

    yield hire
    for hired in crews:
        hired.dismiss()
