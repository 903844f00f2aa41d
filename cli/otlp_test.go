package cli_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	"hindcast/model/transcript"
	"hindcast/store"
	"hindcast/store/kinds/mapped"
	"hindcast/store/sample"
	"hindcast/store/storetest/skip"
)

// What --otlp writes of every session of every store below testdata opens with the map of the README: texts, calls and results.
func TestExport_otlp(t *testing.T) {
	skip.Sequential(t)
	page, err := os.ReadFile(filepath.Join("..", "store", "kinds", "mapped", "README.md"))
	if err != nil || !strings.Contains(string(page), "`"+transcript.SpansMap+"`") {
		t.Fatalf("the page does not have the map, %v", err)
	}
	spans, err := mapped.ParseMap(transcript.SpansMap)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "spans.json")
	kinds, sessions := map[string]bool{}, 0
	for _, dir := range append(testdataStores(t), filepath.Join("..", "testdata", "coding", "aider", ".aider.chat.history.md")) {
		c := start(t, sample.Rows())
		c.Kinds = realKinds()
		code, out, _ := c.run(t, "sessions", dir, "--json")
		if code != 0 {
			continue // a folder of something else
		}
		var list []struct{ ID, Kind, Store string }
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatal(err)
		}
		for _, info := range list {
			address := cmp.Or(info.Store, dir)
			from, err := c.Kinds.Open(t.Context(), address)
			if errors.Is(err, store.ErrUnrecognised) {
				continue // the store is in the folder, and has a line of its own
			}
			if err != nil {
				t.Fatal(err)
			}
			code, document, says := c.run(t, "export", address, info.ID, "--otlp")
			switch {
			case strings.Contains(says, "has no messages"), strings.Contains(says, "has no head"):
			case code != 0:
				t.Errorf("%s %s: %s", dir, info.ID, says)
			default:
				sessions++
				kinds[from.Kind()] = true
				if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
					t.Fatal(err)
				}
				back, err := mapped.Open(t.Context(), file, spans)
				if err != nil {
					t.Fatalf("%s %s: %v", dir, info.ID, err)
				}
				if was, is := dropCosts(spokenLines(t, from, info.ID)), spokenLines(t, back, info.ID); !slices.EqualFunc(was, is, sameLine) {
					t.Errorf("%s %s is\n%s\nand opens as\n%s", dir, info.ID, strings.Join(was, "\n"), strings.Join(is, "\n"))
				}
				if err := back.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := from.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if sessions < 150 || len(kinds) < 20 {
		t.Errorf("%d sessions of %d kinds", sessions, len(kinds))
	}
}

// dropCosts drops the lines of costs, which the map does not read.
func dropCosts(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "took ") })
}

// pictureLabel stands in a span for a picture.
var pictureLabel = regexp.MustCompile(`image [a-z]+ [0-9.]+ [kM]?B$`)

// sameLine reports whether a line comes back, a picture as its label.
func sameLine(was, is string) bool {
	return was == is || strings.HasSuffix(was, "picture") && pictureLabel.MatchString(is)
}

// The spans are those of the conventions: one trace with an invocation and its answers, in hexadecimal ids that are the same each time.
func TestExport_otlpOfOne(t *testing.T) {
	projects := filepath.Join("..", "testdata", "coding", "claude-code", "projects")
	const session = "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789"
	c := start(t, sample.Rows())
	c.Kinds = realKinds()
	code, whole, says := c.run(t, "export", projects, session, "--otlp")
	_, again, _ := c.run(t, "export", projects, session, "--otlp", "--json")
	if code != 0 || whole != again {
		t.Errorf("exit %d, %s", code, says)
	}
	var document struct {
		ResourceSpans []struct {
			SchemaURL  string `json:"schemaUrl"`
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name string
					StartTimeUnixNano, EndTimeUnixNano  int64 `json:",string"`
					Attributes                          []struct {
						Key   string
						Value map[string]string
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(whole), &document); err != nil {
		t.Fatal(err)
	}
	of := document.ResourceSpans[0]
	if of.SchemaURL != semconv.SchemaURL {
		t.Errorf("the schema is %s, and that of the conventions %s", of.SchemaURL, semconv.SchemaURL)
	}
	known := map[string]bool{}
	for _, key := range []attribute.Key{semconv.GenAIOperationNameKey, semconv.GenAIProviderNameKey, semconv.GenAIConversationIDKey, semconv.GenAIAgentNameKey,
		semconv.GenAIRequestModelKey, semconv.GenAIResponseModelKey, semconv.GenAIInputMessagesKey, semconv.GenAIOutputMessagesKey,
		semconv.GenAIUsageInputTokensKey, semconv.GenAIUsageOutputTokensKey} {
		known[string(key)] = true
	}
	ids := map[string]bool{}
	root := of.ScopeSpans[0].Spans[0]
	for i, span := range of.ScopeSpans[0].Spans {
		has := map[string]string{}
		for _, a := range span.Attributes {
			if !known[a.Key] {
				t.Errorf("span %d has %s, which the conventions do not have", i, a.Key)
			}
			has[a.Key] = cmp.Or(a.Value["stringValue"], a.Value["intValue"])
		}
		operation, parent := "chat", root.SpanID
		if i == 0 {
			operation, parent = "invoke_agent", ""
		} else if !strings.Contains(span.Name, has["gen_ai.request.model"]) || has["gen_ai.input.messages"] == "" {
			t.Errorf("span %d is %q: %v", i, span.Name, has)
		}
		if ids[span.SpanID] || len(span.SpanID) != 16 || len(span.TraceID) != 32 || span.TraceID != root.TraceID || span.ParentSpanID != parent ||
			span.StartTimeUnixNano > span.EndTimeUnixNano || span.StartTimeUnixNano < root.StartTimeUnixNano || span.EndTimeUnixNano > root.EndTimeUnixNano ||
			has["gen_ai.operation.name"] != operation || has["gen_ai.conversation.id"] != session || has["gen_ai.provider.name"] == "" {
			t.Errorf("span %d is %+v", i, span)
		}
		ids[span.SpanID] = true
	}
	if len(ids) < 3 || !strings.Contains(whole, "gen_ai.usage.output_tokens") || !strings.Contains(whole, "gen_ai.response.model") {
		t.Errorf("%d spans: %s", len(ids), whole)
	}
	_, hidden, _ := c.run(t, "export", projects, session, "--otlp", "--redact-regex", "first question")
	if strings.Contains(hidden, "first question") || !strings.Contains(hidden, "[redacted regex 1]") {
		t.Error(hidden)
	}
	for _, args := range [][]string{{"--otlp", "--atif"}, {"--otlp", "--whole"}, {"--otlp", "--only", "#0..#1"}} {
		if code, _, _ := c.run(t, append([]string{"export", projects, session}, args...)...); code != 2 {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}
