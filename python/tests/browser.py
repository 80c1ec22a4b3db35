"""A page in headless Chromium, over its debugging protocol: what it said, asked for and drew."""

import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import websocket

PROGRAM = shutil.which("chromium")
_COUNTS = ("document.documentElement && [document.querySelectorAll('.plot').length,"
           " document.querySelectorAll('.plot[data-drawn] > .plot-container').length, document.documentElement.scrollWidth]")
_TABLES = """[...document.querySelectorAll('figure')].map(f => ({
  title: f.querySelector('h3').textContent, label: f.querySelector('.plot').getAttribute('aria-label'),
  columns: [...f.querySelectorAll('th')].map(c => c.textContent),
  rows: [...f.querySelectorAll('tbody tr')].map(r => [...r.children].map(c => c.dataset.value ?? c.textContent))}))"""


class Page:
    """What a page shows at a width: `errors`, `requests` beyond the file itself, `tables`, `plots`, `drawn`, `width`."""

    def __init__(self, file, width: int, folder):
        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
             f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.events, self.count = [], 0
        try:
            self._look(Path(file), width)
        finally:
            self.process.terminate()
            self.process.wait()
            self.process.stderr.close()

    def _look(self, file: Path, width: int) -> None:
        port = None
        for said in self.process.stderr:
            if "DevTools listening on" in said:
                port = said.split(":")[-1].split("/")[0]
                break
        assert port, "chromium did not start"
        tabs = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        tab = next(each for each in tabs if each["type"] == "page")
        self.socket = websocket.create_connection(tab["webSocketDebuggerUrl"], suppress_origin=True, timeout=120)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.call("Page.navigate", url=file.resolve().as_uri())
        for _ in range(600):
            self.plots, self.drawn, self.width = self.value(_COUNTS) or (0, 0, 0)
            if self.plots and self.plots == self.drawn:
                break
            time.sleep(0.1)
        self.tables = self.value(_TABLES)
        self.errors = [e for e in self.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        urls = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        self.requests = [url for url in urls if not url.startswith(("data:", "file:", "about:"))]
        self.socket.close()

    def call(self, method: str, **parameters):
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.count:
                return answer["result"]
            self.events.append(answer)

    def value(self, expression: str):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")
