// Writes the sessions of testdata/coding/vscode-chat:
//
//     npm install --prefix MODULES @codingame/monaco-vscode-chat-service-override@36.2.7
//     node record.mjs DIR MODULES
//
// VS Code cannot be run here. Its own code writes the logs all the same: the package has chatSessionOperationLog.js and
// objectMutationLog.js of VS Code as they are compiled, and they compare the models below, as VS Code saves a session after
// each change. What is in a model is written after chatModel.ts, chatService.ts and languageModelToolsService.ts, and the
// rounds of a result after toolCallingLoop.ts of vscode-copilot-chat. Of the document, VS Code before 1.109 is the model. The
// events of a transcript are those that the fixtures of git-ai-project/git-ai have.
//
// EDITED   a log: an answer with two rounds that is written as it comes, and an edited prompt
// PARTS    a log without rounds: references, a command that failed, a call that was not allowed, an edit
// RETRIED  a log of a window without a folder: an answer that failed, asked again; a prompt that waits
// DELETED  a log: a request was deleted between two others
// OLD      a document, whose last request an undo hides: a log is not told of that once the answer is complete
// SCRIPT   a transcript of a session that is gone; EDITED has one, too
import { mkdirSync, rmSync, writeFileSync, appendFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const [root, modules] = process.argv.slice(2);
const at = "node_modules/@codingame/monaco-vscode-chat-service-override/vscode/src/vs/workbench/contrib/chat/common/model/chatSessionOperationLog.js";
const { ChatSessionOperationLog } = await import(pathToFileURL(join(modules, at)));

const id = (n) => `7c1e0f5e-2a54-4c61-9a59-0f1d6f3a1b0${n}`;
const time = (seconds) => Date.UTC(2026, 10, 21, 9, 0, 0) + seconds * 1000;
const space = "workspaceStorage/0f3b";
const uri = (path) => ({ $mid: 1, fsPath: path, external: "file://" + path, path, scheme: "file" });
const COMPLETE = 1, CANCELLED = 2, FAILED = 3;

function place(name) {
	const path = join(root, name);
	mkdirSync(dirname(path), { recursive: true });
	rmSync(path, { force: true });
	return path;
}

// Session is a chat that VS Code saves in a file.
class Session {
	constructor(n, folder) {
		this.model = {
			sessionId: id(n), timestamp: time(0), hasCustomTitle: false, title: undefined, initialLocation: "panel", responderUsername: "GitHub Copilot",
			inputModel: { toJSON: () => ({ attachments: [], mode: { id: "agent", kind: "agent" }, selectedModel: undefined, inputText: "", selections: [], contrib: {} }) },
			requests: [], pending: [], repoData: undefined, editingSession: undefined,
			getRequests() { return this.requests; }, getPendingRequests() { return this.pending; },
		};
		this.log = new ChatSessionOperationLog();
		this.file = place(join(folder, id(n) + ".jsonl"));
	}
	save(change) {
		change(this.model);
		const { op, data } = this.log.write(this.model);
		(op === "append" ? appendFileSync : writeFileSync)(this.file, data.buffer);
		this.log.confirmWrite();
	}
}

function request(n, seconds, text, variables = []) {
	return {
		id: `request_${id(n)}`, timestamp: time(seconds), modelId: "copilot/gpt-5.1", modeInfo: { kind: "agent", isBuiltin: true, modeId: "agent" },
		message: { text, parts: [{ range: { start: 0, endExclusive: text.length }, text, kind: "text" }] }, variableData: { variables }, editedFileEvents: undefined,
		response: { id: `response_${id(n)}`, agent: { id: "github.copilot.editsAgent", name: "agent" }, entireResponse: { value: [] }, stateT: { value: 0 }, followups: undefined, timestamp: 0 },
	};
}

const answer = (r, ...parts) => { r.response.entireResponse.value = [...r.response.entireResponse.value, ...parts]; };
const text = (value) => ({ kind: "markdownContent", content: { value, isTrusted: false, supportThemeIcons: false, supportHtml: false } });
const ends = (r, seconds, state, result) => { r.response.stateT = { value: state, completedAt: time(seconds) }; r.response.result = result; };
const tool = (toolId, toolCallId, said, more = {}) => ({
	kind: "toolInvocationSerialized", toolId, toolCallId, invocationMessage: { value: said }, pastTenseMessage: { value: said.replace("Reading", "Read").replace("Running", "Ran") },
	isConfirmed: { type: 1 }, isComplete: true, source: { type: "internal", label: "Built-In" }, ...more,
});
const round = (n, seconds, response, thinking, ...calls) => ({
	id: `round_${n}`, response, toolInputRetry: 0, timestamp: time(seconds), ...(thinking && { thinking: { id: `thinking_${n}`, text: thinking } }),
	toolCalls: calls.map(([id, name, given]) => ({ id, name, arguments: JSON.stringify(given) })),
});
const gave = (value) => ({ $mid: 20, content: [{ $mid: 21, value }] });
const result = (prompt, rounds, results, read, written) => ({
	timings: { firstProgress: 900, totalElapsed: 8000 }, details: "GPT-5.1 • 1x",
	metadata: {
		renderedUserMessage: [{ type: 1, text: `<reminderInstructions>\nUse the tools.\n</reminderInstructions>\n<userRequest>\n${prompt}\n</userRequest>\n` }],
		toolCallRounds: rounds, toolCallResults: results, promptTokens: read, outputTokens: written, resolvedModel: "gpt-5.1-2026-09-01", agentId: "github.copilot.editsAgent",
	},
});

// EDITED
{
	const s = new Session(1, join(space, "chatSessions"));
	s.save(() => {});
	const first = request(2, 10, "Why does the build fail?", [{ id: "vscode.implicit", kind: "file", name: "file:main.go", value: uri("/home/demo/shop/main.go") }]);
	s.save((m) => m.requests.push(first));
	s.save(() => answer(first, { kind: "thinking", value: "The build first.", id: "thinking_1" }, text("I run the build")));
	s.save(() => { first.response.entireResponse.value[1] = text("I run the build.\n\n"); });
	const running = tool("run_in_terminal", "call_build", "Running `go build ./...`", { toolSpecificData: { kind: "terminal", commandLine: { original: "go build ./..." }, language: "sh", terminalCommandOutput: { text: "main.go:7: undefined: prce\r\n" }, terminalCommandState: { exitCode: 1 } } });
	s.save(() => answer(first, { ...running, isComplete: false, isConfirmed: undefined, pastTenseMessage: undefined }));
	s.save(() => {
		first.response.entireResponse.value = [...first.response.entireResponse.value.slice(0, 2), running];
		answer(first, tool("copilot_readFile", "call_read", "Reading [](file:///home/demo/shop/main.go#1-12)"), text("Line 7 of "), { kind: "inlineReference", inlineReference: uri("/home/demo/shop/main.go"), name: "main.go" }, text(" says `prce` for `price`."));
		ends(first, 21, COMPLETE, result("Why does the build fail?", [
			round(1, 12, "I run the build.", "The build first.", ["call_build", "run_in_terminal", { command: "go build ./...", isBackground: false }], ["call_read", "read_file", { filePath: "/home/demo/shop/main.go", startLine: 1, endLine: 12 }]),
			round(2, 18, "Line 7 of `main.go` says `prce` for `price`.", ""),
		], {
			call_build: gave("main.go:7: undefined: prce\n\nCommand exited with code 1"),
			call_read: { $mid: 20, content: [{ $mid: 22, value: { node: { type: 1, ctor: 2, children: [{ type: 2, text: "package main\n" }, { type: 2, text: "func main() { println(prce) }\n" }] } } }] },
		}, 5210, 96));
	});
	const fix = request(3, 40, "Fix it and run the tests");
	s.save((m) => m.requests.push(fix));
	s.save(() => {
		answer(fix, tool("copilot_replaceString", "call_fix", "Reading main.go"), { kind: "textEditGroup", uri: uri("/home/demo/shop/main.go"), edits: [[{ text: "price", range: { startLineNumber: 7, startColumn: 23, endLineNumber: 7, endColumn: 27 } }]], done: true }, text("It is `price` now."));
		ends(fix, 52, COMPLETE, result("Fix it and run the tests", [
			round(3, 43, "", "", ["call_fix", "replace_string_in_file", { filePath: "/home/demo/shop/main.go", oldString: "println(prce)", newString: "println(price)" }]),
			round(4, 50, "It is `price` now.", ""),
		], { call_fix: gave("The file was edited.") }, 5600, 48));
	});
	s.save((m) => { m.hasCustomTitle = true; m.title = "Build of the shop fails"; });
	const other = request(4, 90, "Only tell me the fix, and change nothing");
	s.save((m) => { m.requests = [first, other]; });
	s.save(() => { answer(other, text("Write `price` in line 7.")); ends(other, 95, COMPLETE, result("Only tell me the fix, and change nothing", [round(5, 94, "Write `price` in line 7.", "")], {}, 5300, 12)); });
	const last = request(5, 120, "Now apply it");
	s.save((m) => m.requests.push(last));
	s.save(() => { answer(last, text("I applied it.")); ends(last, 126, COMPLETE, { timings: { totalElapsed: 6000 } }); });
}

// PARTS
{
	const s = new Session(2, join(space, "chatSessions"));
	const one = request(6, 200, "Read test.txt and run its command");
	s.save((m) => m.requests.push(one));
	s.save(() => answer(one, text("I'll read "), { kind: "inlineReference", inlineReference: uri("/home/demo/shop/test.txt") }, text(" first. "),
		tool("copilot_readFile", "call_1", "Reading test.txt"), tool("copilot_readFile", "call_2", "Reading README.md"),
		text("It says `uname -a`."),
		tool("run_in_terminal", "call_3", "Running `uname -a`", { toolSpecificData: { kind: "terminal", commandLine: { original: "uname -a" }, terminalCommandOutput: { text: "sh: uname: not found" }, terminalCommandState: { exitCode: 127 } } }),
		tool("mcp_web_fetch", "call_4", "Running fetch", { resultDetails: { input: '{"url": "https://example.com/a"}', output: [{ type: "embed", isText: true, value: "404" }], isError: true } }),
		{ kind: "warning", content: { value: "The answer was stopped." } }, { kind: "undoStop", id: "stop_1" }));
	s.save(() => ends(one, 230, CANCELLED, { timings: { totalElapsed: 30000 }, errorDetails: { message: "Canceled" } }));
}

// RETRIED
{
	const s = new Session(3, "globalStorage/emptyWindowChatSessions");
	const one = request(7, 300, "What is a monad?");
	s.save((m) => m.requests.push(one));
	s.save(() => ends(one, 303, FAILED, { errorDetails: { message: "Sorry, your request failed. Please try again." } }));
	const again = request(8, 310, "What is a monad?");
	s.save((m) => { m.requests = [again]; });
	s.save(() => { answer(again, text("A monoid in the category of endofunctors.")); ends(again, 318, COMPLETE, result("What is a monad?", [round(6, 316, "A monoid in the category of endofunctors.", "")], {}, 900, 20)); });
	s.save((m) => m.pending.push({ request: request(9, 320, "And in Go?"), kind: "queued", sendOptions: {} }));
}

// DELETED
{
	const s = new Session(4, join(space, "chatSessions"));
	const [a, b, c] = [["Name a prime", "7"], ["Name a colour", "Green"], ["Another prime", "11"]].map(([words, said], i) => {
		const r = request(["a", "b", "c"][i], 400 + 10 * i, words);
		answer(r, text(said));
		ends(r, 405 + 10 * i, COMPLETE, { timings: { totalElapsed: 5000 } });
		return r;
	});
	for (const r of [a, b, c]) s.save((m) => m.requests.push(r));
	s.save((m) => { m.requests = [a, c]; });
}

// OLD
writeFileSync(place(join(space, "chatSessions", id(5) + ".json")), JSON.stringify({
	version: 3, requesterUsername: "demo", responderUsername: "GitHub Copilot", initialLocation: "panel",
	requests: [
		{ requestId: `request_${id("d")}`, timestamp: time(500), message: { text: "/explain this", parts: [] }, variableData: { variables: [{ kind: "string", id: "s", name: "selection", value: "func price() int" }] }, response: [{ value: "It returns the price.", isTrusted: false }], result: { timings: { totalElapsed: 2100 }, metadata: {} }, isCanceled: false, agent: { id: "github.copilot.default" }, modelId: "copilot/gpt-4.1" },
		{ requestId: `request_${id("e")}`, timestamp: time(520), message: "as a table", variableData: { variables: [] }, response: [{ kind: "progressMessage", content: { value: "Thinking" } }, { value: "| price |\n|---|" }], isCanceled: false },
		{ requestId: `request_${id("f")}`, timestamp: time(540), message: { text: "and in French", parts: [] }, variableData: { variables: [] }, response: [{ value: "| prix |" }], isCanceled: false, shouldBeRemovedOnSend: { requestId: `request_${id("f")}` } },
	],
	sessionId: id(5), creationDate: time(499), isImported: false, lastMessageDate: time(520), customTitle: "The price function",
}));

// SCRIPT
const event = (type, seconds, data) => ({ type, data, id: `${type}-${seconds}`, timestamp: new Date(time(seconds)).toISOString(), parentId: null });
const script = (n, events) => writeFileSync(place(join(space, "GitHub.copilot-chat/transcripts", id(n) + ".jsonl")),
	[event("session.start", 600, { sessionId: id(n), version: 1, producer: "copilot-agent", copilotVersion: "0.40.1", vscodeVersion: "1.112.0", startTime: new Date(time(600)).toISOString() }), ...events].map((e) => JSON.stringify(e) + "\n").join(""));
script(1, [event("user.message", 10, { content: "Why does the build fail?", attachments: [] })]);
script(6, [
	event("user.message", 601, { content: "Where is the port set?", attachments: [] }),
	event("assistant.turn_start", 602, { turnId: "0" }),
	event("assistant.message", 603, { messageId: "m1", content: "I look.", reasoningText: "A search first.", toolRequests: [{ toolCallId: "call_5", name: "grep_search", arguments: '{"query": "PORT"}', type: "function" }] }),
	event("tool.execution_start", 604, { toolCallId: "call_5", toolName: "grep_search", arguments: { query: "PORT" } }),
	event("tool.execution_complete", 605, { toolCallId: "call_5", success: true, result: { content: "config.go:12: PORT" } }),
	event("assistant.message", 606, { messageId: "m2", content: "In config.go, line 12.", toolRequests: [] }),
	event("assistant.turn_end", 607, { turnId: "0" }),
]);

writeFileSync(place(join(space, "workspace.json")), JSON.stringify({ folder: "file:///home/demo/shop" }));
