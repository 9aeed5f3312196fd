"""The agent, the daemon and the plugin whose calls are killed by agent_kills.py; the agent kills as its event says."""

from __future__ import annotations

CLAUDE = """#!{python}
import json, os, re, signal, subprocess, sys, time

HOME = {home!r}
RUN = os.environ["PRLOOM_RUN"]
prompt = sys.stdin.read()
ids = [json.loads(found) for found in re.findall(r"BEGIN facts of event .*\\nid: (.*)", prompt)]
bodies = re.findall(r"BEGIN body of event .*\\n(\\S+) (\\S+)", prompt)
name, (victim, step, late) = bodies[0][0], bodies[0][1].split(":")
server = None


def victims():
    if victim in ("server", "both") and server is not None:
        yield server.pid
    if victim == "daemon":
        yield int(open(f"{{HOME}}/daemon.pid").read())
    if victim == "dispatcher":
        yield json.load(open(f"{{HOME}}/repo/prloom/.local/dispatcher.owner.json"))["pid"]
    if victim in ("agent", "both"):
        yield os.getpid()


def at(now):
    if now != step:
        return
    try:
        os.close(os.open(f"{{HOME}}/struck-{{name}}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    time.sleep(float(late))
    for pid in victims():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def send(message):
    try:
        server.stdin.write(json.dumps({{"jsonrpc": "2.0", **message}}).encode() + b"\\n")
        server.stdin.flush()
    except BrokenPipeError:
        pass


def answer(number):
    for line in server.stdout:
        message = json.loads(line)
        if message.get("id") == number:
            return message
    return {{}}


def call(number, tool, word, after, answered):
    send({{"id": number, "method": "tools/call", "params": {{"name": tool, "arguments": {{"word": word}}}}}})
    at(after)
    success = answer(number).get("result", {{}}).get("structuredContent", {{}}).get("success")
    note = json.dumps({{"tool": tool, "word": word, "success": success}})
    fd = os.open(f"{{HOME}}/calls", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(fd, note.encode() + b"\\n")
    os.close(fd)
    at(answered)


print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s-1", "model": "m"}}), flush=True)
at("begun")
entry = json.load(open(sys.argv[sys.argv.index("--mcp-config") + 1]))["mcpServers"]["prloom"]
server = subprocess.Popen(
    [entry["command"], *entry["args"]],
    env={{**os.environ, **entry["env"]}}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
)
at("served")
about = {{"protocolVersion": "2025-06-18", "capabilities": {{}}, "clientInfo": {{"name": "c", "version": "1"}}}}
send({{"id": 0, "method": "initialize", "params": about}})
answer(0)
send({{"method": "notifications/initialized"}})
at("greeted")
call(1, "mark", f"{{name}}{{RUN}}", "called", "answered")
call(2, "tell", name, "told", "heard")
replies = [f"Thought {{body[0]}}" for body in bodies]
items = [{{"eventId": i, "verdict": "answered", "reply": reply}} for i, reply in zip(ids, replies, strict=True)]
said = json.dumps({{"items": items, "todos": [], "rebaseRequested": False}})
line = json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": said, "session_id": "s-1",
    "stop_reason": "end_turn", "modelUsage": {{"m": {{}}}}}})
sys.stdout.write(line[: len(line) // 2])
sys.stdout.flush()
at("half")
sys.stdout.write(line[len(line) // 2 :] + "\\n")
sys.stdout.flush()
at("said")
"""
DAEMON = """
import json, os, socket, threading

with open(os.environ["HOME"] + "/daemon.pid.new", "w") as file:
    file.write(str(os.getpid()))
os.rename(file.name, os.environ["HOME"] + "/daemon.pid")


def request(stream, number, method, params):
    stream.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\\n")
    stream.flush()
    return json.loads(stream.readline())


def tell(word):
    plan = os.environ["HOME"] + "/plan-" + word
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ["PRLOOM_HOST_SOCKET"])
        with line.makefile("rw") as stream:
            request(stream, 0, "hello", {"token": os.environ["PRLOOM_HOST_TOKEN"]})
            message = {"message_id": word, "plan_id": open(plan).read(), "role": "user", "content": f"Told {word}"}
            answer = request(stream, 1, "add_message", message)
    return {"success": "result" in answer, "error": str(answer.get("error"))}


def serve(connection):
    with connection, connection.makefile("rw") as stream:
        for line in stream:
            asked = json.loads(line)
            if "id" in asked:
                result = tell(asked["params"]["word"]) if asked["method"] == "tell" else {}
                stream.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\\n")
                stream.flush()


with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(os.environ["PRLOOM_SOCKET_PATH"])
    listening.listen()
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""
MANIFEST = """
name: teller
background: {command: python3, args: [-S, -E, daemon.py], startup_timeout: 60000, shutdown_grace_period: 1000}
tools:
  - name: tell
    type: background_rpc
    method: tell
    schema: {type: object, properties: {word: {type: string}}, required: [word]}
"""
PLUGIN = """
import os

WORD = {{"type": "object", "properties": {{"word": {{"type": "string"}}}}, "required": ["word"]}}


def register(ctx):
    @ctx.tool("mark", WORD)
    def mark(word, ctx):
        fd = os.open({marks!r}, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(fd, word.encode() + b"\\n")
        os.close(fd)
        ctx.emit_comment(None, f"Marked {{word}}")
        return {{"message": word}}

    @ctx.hook("beforeTriage")
    def sort(plan, triage):
        for event in triage.events:
            if event.type == "plugin_message":
                triage.mark_event_handled(event.id)
"""
CONFIG = """
[stages]
default = "claude"
[work]
mode = "off"
[dispatcher]
max_parallel_plans = 4
[backoff]
initial = "50ms"
maximum = "50ms"
max_attempts = 0
[limits]
max_replies_per_thread_per_day = 0
max_runs_per_plan_per_day = 0
max_runs_per_day = 0
[plugins]
enabled = ["teller", "marker"]
[plugins.permissions.teller]
add_messages = true
messages_per_minute = 100000
"""
