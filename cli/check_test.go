package cli_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindcast/store/sample"
)

// check runs check on the demo with rules, and returns the exit code, the answer and the errors.
func (s *session) check(t *testing.T, rules string, args ...string) (code int, out, wrong string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.toml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.run(t, append([]string{"check", "mem:", "--rules", file}, args...)...)
}

func TestCheck(t *testing.T) {
	s := start(t, sample.Rows())
	for name, c := range map[string]struct {
		rules string
		code  int
		says  string
	}{
		"a rule that is kept":      {`must = ".sum.toolCalls < 100"`, 0, "2 of 2 runs keep 1 rules"},
		"a rule that is broken":    {`must = ".calls | length > 5"`, 3, "✗ packing-list"},
		"calls that are breaches":  {`never = ".calls[] | select(.failed)"`, 3, "r  #3  book_hotel"},
		"words that are breaches":  {`never = "if .failed > 0 then \"it failed\" else null end"`, 3, "r  it failed"},
		"no output is no breach":   {`never = "empty"`, 0, "2 of 2"},
		"no output does not keep":  {`must = "empty"`, 3, "0 of 2"},
		"a warning":                {"must = \"false\"\nlevel = \"warning\"", 0, "r (warning)"},
		"an expression that fails": {`must = ".calls + 1"`, 3, "cannot add"},
		"one without end":          {`must = "def f: f; f"`, 3, "does it end"},
		"no jq":                    {`must = "..["`, 1, "is no expression of jq"},
		"the environment":          {`must = "env"`, 1, "no part of the state"},
		"both":                     {"must = \"true\"\nnever = \"false\"", 1, "one of must and never"},
		"neither":                  {"", 1, "one of must and never"},
		"another word":             {`mustt = "true"`, 1, "is not known"},
		"another level":            {"must = \"true\"\nlevel = \"fatal\"", 1, "neither error nor warning"},
	} {
		code, out, wrong := s.check(t, "[[rule]]\nname = \"r\"\n"+c.rules)
		if code != c.code || !strings.Contains(out+wrong, c.says) {
			t.Errorf("%s: exit %d, not %d, %s%s", name, code, c.code, out, wrong)
		}
	}
	for name, rules := range map[string]string{"no rules": "", "no TOML": "[[", "no name": "[[rule]]\nmust = \"true\"", "one name twice": strings.Repeat("[[rule]]\nname = \"r\"\nmust = \"true\"\n", 2)} {
		if code, _, wrong := s.check(t, rules); code != 1 || !strings.Contains(wrong, "rules.toml") {
			t.Errorf("%s: exit %d, %s", name, code, wrong)
		}
	}
	if code, _, wrong := s.run(t, "check", "mem:", "--rules", "nowhere.toml"); code != 1 || !strings.Contains(wrong, "nowhere.toml") {
		t.Errorf("no file: exit %d, %s", code, wrong)
	}
}

func TestCheck_shippedRules(t *testing.T) {
	s := start(t, sample.Rows())
	code, out, wrong := s.run(t, "check", "mem:")
	if code != 0 || !strings.Contains(out, "2 of 2 runs keep 5 rules") {
		t.Errorf("exit %d, %s%s", code, out, wrong)
	}
	if code, out, _ = s.run(t, "check", "mem:", "trip-planner", "#3"); code != 3 || !strings.Contains(out, "no-failure-at-the-end  #3  book_hotel") {
		t.Errorf("exit %d, %s", code, out)
	}
	_, rules, _ := s.run(t, "check", "--print-rules")
	if code, out, wrong = s.check(t, rules); code != 0 || !strings.Contains(out, "5 rules") {
		t.Errorf("the rules that are printed: exit %d, %s%s", code, out, wrong)
	}
}

func TestCheck_like(t *testing.T) {
	s := start(t, sample.Rows())
	for _, c := range []struct {
		session, like string
		code          int
		says          string
	}{
		{"trip-planner", "trip-planner", 0, "1 of 1 runs keep 1 rules"},
		{"trip-planner", "packing-list", 3, `like  #1  call 1 is search_trains`},
		{"trip-planner", "trip-planner:#8", 3, "call 9 is change_train {from: \"09:40\", to: \"10:40\"}; trip-planner ends there"},
		{"trip-planner", "nobody", 1, `"nobody" is no session`},
	} {
		code, out, wrong := s.run(t, "check", "mem:", c.session, "--like", c.like)
		if code != c.code || !strings.Contains(out+wrong, c.says) {
			t.Errorf("%s like %s: exit %d, %s%s", c.session, c.like, code, out, wrong)
		}
	}
}

// The files of results are valid by the schemas of their readers.
func TestCheck_files(t *testing.T) {
	s := start(t, hostile())
	dir := t.TempDir()
	junit, sarif := filepath.Join(dir, "j.xml"), filepath.Join(dir, "s.json")
	code, _, wrong := s.check(t, "[[rule]]\nname = \"bad\"\nmust = \"false\"\n[[rule]]\nname = \"<&\\u001b[31m\"\nnever = \".answer, .sessionId, \\\"\\u001b[2J<\\\"\"\n[[rule]]\nname = \"odd\"\nmust = \".calls + 1\"\n[[rule]]\nname = \"warn\"\nmust = \"false\"\nlevel = \"warning\"\n",
		"--junit", junit, "--sarif", sarif)
	if code != 3 {
		t.Fatalf("exit %d, %s", code, wrong)
	}
	text, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Suite []struct {
			Name string `xml:"name,attr"`
			Case []struct {
				Name    string    `xml:"name,attr"`
				Class   string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	var counts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	if err := xml.Unmarshal(text, &counts); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	tests, failures, failed := 0, 0, 0
	for _, suite := range suites.Suite {
		for _, c := range suite.Case {
			tests++
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				failed++
			}
		}
	}
	if tests == 0 || tests != counts.Tests || failures != counts.Failures || failed != counts.Errors || failures == 0 || failed == 0 {
		t.Errorf("%d tests, %d failures, %d errors: %s", tests, failures, failed, text)
	}
	holdJUnit(t, text)
	data, err := os.ReadFile(sarif)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"JUnit": text, "SARIF": data} {
		if strings.Contains(string(file), "\x1b") {
			t.Errorf("%s has an escape", name)
		}
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "sarif-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Error(err)
	}
	var results struct {
		Runs []struct{ Results []json.RawMessage }
	}
	if err := json.Unmarshal(data, &results); err != nil || len(results.Runs) != 1 || len(results.Runs[0].Results) < 4 {
		t.Errorf("%d runs, %v", len(results.Runs), err)
	}
}

// A session with a call that is made again is flagged, in both forms of log.
func TestLog_flags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loop.jsonl")
	if err := os.WriteFile(file, []byte(sessionOfLoop()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, sample.Rows())
	s.Kinds = realKinds()
	code, out, wrong := s.run(t, "log", file, "--flags")
	if code != 0 || !strings.HasSuffix(out, "\n1 flag\n  #0 #0 #0  repeat 3 times: list {a: 1}\n") {
		t.Errorf("exit %d, %s%s", code, out, wrong)
	}
	if _, out, _ = s.run(t, "log", file, "--flags", "--json"); !strings.Contains(out, `"flags":[{"kind":"repeat","name":"#0","text":"repeat 3 times: list {a: 1}","calls":[0,1,2],"tokens":0}]`) {
		t.Errorf("%s", out)
	}
	(&answers{published(t), map[string]bool{}}).conform(t, "log", out)
	if code, out, _ = s.run(t, "check", file); code != 3 || !strings.Contains(out, "no-loop  #0  repeat 3 times") {
		t.Errorf("exit %d, %s", code, out)
	}
}

// sessionOfLoop returns the row of a session in which a call is made three times.
func sessionOfLoop() string {
	call := `{"role":"assistant","content":[{"toolUse":{"toolUseId":"t%","name":"list","input":{"a":1}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t%","status":"success","content":[{"text":"none"}]}}]}`
	var calls []string
	for _, id := range []string{"1", "2", "3"} {
		calls = append(calls, strings.ReplaceAll(call, "%", id))
	}
	return `{"id":"a","sessionId":"s","index":0,"turnIndex":0,"event":0,"state":{"messages":[{"role":"user","content":[{"text":"go"}]},` + strings.Join(calls, ",") + `]}}`
}

// inJUnit are the attributes and the elements that an element of JUnit's XML may have, by junit-10.xsd of Jenkins. An
// attribute with ! must be there.
var inJUnit = map[string][2]string{
	"":           {"", "testsuites"},
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite":  {"name! tests! failures! errors! group time skipped timestamp hostname id package file log url", "testsuite properties testcase system-out system-err"},
	"testcase":   {"name! time classname group", "skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err"},
	"error":      {"type message", ""},
	"failure":    {"type message", ""},
	"system-out": {"", ""},
}

// holdJUnit holds the elements of a file to inJUnit.
func holdJUnit(t *testing.T, text []byte) {
	t.Helper()
	within := []string{""}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			is := x.Name.Local
			if outer := within[len(within)-1]; !slices.Contains(strings.Fields(inJUnit[outer][1]), is) {
				t.Errorf("%q has no element %q", outer, is)
			}
			may := strings.Fields(inJUnit[is][0])
			for _, a := range x.Attr {
				n := len(may)
				if may = slices.DeleteFunc(may, func(name string) bool { return strings.TrimSuffix(name, "!") == a.Name.Local }); len(may) == n {
					t.Errorf("%q has no attribute %q", is, a.Name.Local)
				}
			}
			if i := slices.IndexFunc(may, func(name string) bool { return strings.HasSuffix(name, "!") }); i >= 0 {
				t.Errorf("%q lacks %s", is, may[i])
			}
			within = append(within, is)
		case xml.EndElement:
			within = within[:len(within)-1]
		}
	}
}
