package chattest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Agent is a coding agent with a home, a project and a scripted model of its own.
type Agent struct {
	*Model
	Kind       string
	Home, Work string
	// Env has the variables that it runs with besides those of [Run].
	Env []string

	how setup
}

// setup is how an agent is set up and called.
type setup struct {
	// tool is its folder below HINDCAST_AGENTS, program what is called, in the folder bin of a Python or else where npm puts
	// it, and file with its settings below the home.
	tool, program, file string
	python              bool
	// settings and env have {url} for that of the model, and call has {interop} for the folder testdata/interop.
	settings string
	env      []string
	// call and prompt turn the call that a plan has into one that answers a prompt and ends: a replacement in the call, and
	// the words behind it.
	call   [2]string
	prompt string
	// api is the API of the model that it asks.
	api string
}

var setups = map[string]setup{
	"claude-code": {
		tool: "claude-code", program: "claude", prompt: " -p '%s'", api: "anthropic",
		env: []string{
			"ANTHROPIC_BASE_URL={url}", "ANTHROPIC_API_KEY=sk-ant-scripted", "ANTHROPIC_MODEL=claude-sonnet-4-5", "DISABLE_TELEMETRY=1",
			"DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1",
		},
	},
	"codex": {
		tool: "codex", program: "codex", file: ".codex/config.toml", call: [2]string{"codex resume", "codex exec --skip-git-repo-check resume"}, prompt: " '%s'", api: "responses",
		settings: "model = \"fake-model\"\nmodel_provider = \"fake\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n" +
			"[model_providers.fake]\nname = \"fake\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n[analytics]\nenabled = false\n",
		env: []string{"FAKE_KEY=x"},
	},
	"pi": {
		tool: "pi", program: "pi", file: ".pi/agent/models.json", prompt: " --provider fake --model fake-model -p '%s'", api: "anthropic",
		settings: `{"providers": {"fake": {"baseUrl": "{url}", "apiKey": "none", "api": "anthropic-messages", "models": [{"id": "fake-model", "name": "Fake",
			"reasoning": false, "input": ["text", "image"], "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}, "contextWindow": 100000, "maxTokens": 4000}]}}}`,
		env: []string{"PI_OFFLINE=1"},
	},
	"gemini-cli": {
		tool: "gemini-cli", program: "gemini", file: ".gemini/settings.json", prompt: " -m gemini-2.5-flash -y -p '%s'", api: "gemini",
		settings: `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true}}`,
		env:      []string{"GEMINI_API_KEY=scripted", "GOOGLE_GEMINI_BASE_URL={url}", "GEMINI_CLI_TRUST_WORKSPACE=true"},
	},
	"opencode": {
		tool: "opencode", program: "opencode", file: ".config/opencode/opencode.json", call: [2]string{"opencode -s", "opencode run -m scripted/scripted -s"}, prompt: " '%s'", api: "chat",
		settings: `{"model": "scripted/scripted", "small_model": "scripted/scripted", "autoupdate": false, "share": "disabled",
			"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": {"baseURL": "{url}/v1", "apiKey": "none"},
			"models": {"scripted": {"name": "scripted", "tool_call": true, "attachment": true, "modalities": {"input": ["text", "image"], "output": ["text"]}, "limit": {"context": 100000, "output": 4000}}}}},
			"permission": {"bash": "allow", "edit": "allow"}}`,
		env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "NO_PROXY=127.0.0.1,localhost"},
	},
	"kimi-cli": {
		tool: "kimi-cli", program: "kimi", python: true, file: ".kimi/config.toml", prompt: " --print --yolo -p '%s'", api: "chat",
		settings: "default_model = \"scripted\"\n[providers.scripted]\ntype = \"openai_legacy\"\nbase_url = \"{url}/v1\"\napi_key = \"scripted\"\n" +
			"[models.scripted]\nprovider = \"scripted\"\nmodel = \"scripted\"\nmax_context_size = 100000\n",
		env: []string{"KIMI_CLI_NO_AUTO_UPDATE=1"},
	},
	"kimi": {
		tool: "kimi-code", program: "kimi", prompt: " -p '%s'", api: "chat",
		env: []string{"KIMI_MODEL_NAME=scripted", "KIMI_MODEL_API_KEY=scripted", "KIMI_MODEL_PROVIDER_TYPE=openai", "KIMI_MODEL_BASE_URL={url}/v1", "KIMI_CODE_NO_AUTO_UPDATE=1"},
	},
	"deepagents": {
		tool: "deepagents", program: "dcode", python: true, prompt: " '%s'", api: "anthropic",
		call: [2]string{"dcode -r", "python3 '{interop}/deepagents/resume.py' dcode ~/.deepagents/.state/sessions.db"},
		env: []string{
			"ANTHROPIC_BASE_URL={url}", "ANTHROPIC_API_KEY=scripted", "DEEPAGENTS_CODE_OFFLINE=1", "DEEPAGENTS_CODE_AUTO_UPDATE=0",
			"DEEPAGENTS_CODE_ONBOARDING=0",
		},
	},
	"copilot-cli": {
		tool: "copilot-cli", program: "copilot", prompt: " --allow-all-tools -p '%s'", api: "chat",
		env: []string{
			"COPILOT_PROVIDER_BASE_URL={url}/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=scripted", "COPILOT_MODEL=scripted",
			"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
		},
	},
	"qwen": {
		tool: "qwen-code", program: "qwen", file: ".qwen/settings.json", prompt: " -y -p '%s'", api: "chat",
		settings: `{"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true},"security":{"auth":{"selectedType":"openai"}},"model":{"generationConfig":{"modalities":{"image":true}}}}`,
		env:      []string{"OPENAI_API_KEY=scripted", "OPENAI_BASE_URL={url}/v1", "OPENAI_MODEL=scripted", "QWEN_CODE_SUPPRESS_YOLO_WARNING=1"},
	},
}

// StartAgent sets up the agent of a kind of store. The test is skipped as by [Program].
func StartAgent(t testing.TB, kind string) *Agent {
	t.Helper()
	how := setups[kind]
	below := []string{"node_modules", ".bin", how.program}
	if how.python {
		below = []string{"venv", "bin", how.program}
	}
	bin := filepath.Dir(Program(t, how.tool, below...))
	a := &Agent{Kind: kind, Home: t.TempDir(), Work: t.TempDir(), how: how}
	a.Model = Start(t)
	for _, is := range how.env {
		a.Env = append(a.Env, strings.ReplaceAll(is, "{url}", a.URL))
	}
	a.Env = append(a.Env, "PATH="+bin+":"+node()+"/usr/local/bin:/usr/bin:/bin")
	if how.file != "" {
		file := filepath.Join(a.Home, filepath.FromSlash(how.file))
		err := os.MkdirAll(filepath.Dir(file), 0o700)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.ReplaceAll(how.settings, "{url}", a.URL)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// Run runs a call from a plan with a prompt, and returns what it prints.
func (a *Agent) Run(t testing.TB, call, prompt string) string {
	t.Helper()
	call = strings.Replace(call, a.how.call[0], strings.ReplaceAll(a.how.call[1], "{interop}", filepath.Join(moduleRoot(t), "testdata", "interop")), 1)
	return Run(t, a.Work, a.Home, call+fmt.Sprintf(a.how.prompt, prompt)+" </dev/null", a.Env...)
}

// Ask runs a call from a plan with a unique prompt. It returns the parts of the first request that has the prompt.
func (a *Agent) Ask(t testing.TB, call, prompt string) []Said {
	t.Helper()
	out := a.Run(t, call, prompt)
	for _, r := range a.Requests(t) {
		if bytes.Contains(r.Body, []byte(prompt)) {
			if list, is := ReadSaid(t, a.how.api, r.Body); is {
				return list
			}
		}
	}
	t.Fatalf("%s: the model was not asked %q\n%s", call, prompt, out)
	return nil
}
