package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store/storetest/fake"
)

// spanLines returns a line for each span that ended, in the order of their starts: the names from the
// outermost span on, the words of the snapshot that its attribute names, those of its events, and its error.
func spanLines(t *testing.T, spans *tracetest.SpanRecorder, words ...string) string {
	t.Helper()
	wordsOf := map[string]string{"": ""}
	for _, w := range words {
		wordsOf[idOf(w)] = w
	}
	paths := map[trace.SpanID]string{}
	var lines []string
	for _, s := range spans.Started() {
		span := s.(sdktrace.ReadOnlySpan)
		path := strings.TrimPrefix(paths[span.Parent().SpanID()]+"/"+span.Name(), "/")
		paths[span.SpanContext().SpanID()] = path
		set := attribute.NewSet(span.Attributes()...)
		id, marked := set.Value("genkit:metadata:snapshotId")
		name, named := set.Value("genkit:metadata:agent")
		if marked != named || named && name.AsString() != "echo" {
			t.Errorf("span %q says %v", path, span.Attributes())
		}
		var events []string
		for _, e := range span.Events() {
			of := attribute.NewSet(e.Attributes...)
			if id, ok := of.Value("genkit:metadata:snapshotId"); ok {
				events = append(events, wordsOf[id.AsString()])
			}
		}
		line := fmt.Sprintf("%s=%s", path, wordsOf[id.AsString()])
		if len(events) > 0 {
			line += fmt.Sprint(events)
		}
		if span.Status().Code == codes.Error {
			line += "!"
		}
		if span.EndTime().IsZero() {
			line += " open"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " ")
}

// iteration ends a tool iteration with these words in the state.
func iteration(words string) step {
	return func(ctx context.Context, sess testSess, _ testResp) error {
		sess.UpdateState(ctx, chat{words})
		return agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd)
	}
}

// inOrder does several steps in one.
func inOrder(steps ...step) step {
	return func(ctx context.Context, sess testSess, resp testResp) error {
		for _, s := range steps {
			if err := s(ctx, sess, resp); err != nil {
				return err
			}
		}
		return nil
	}
}

func fails(context.Context, testSess, testResp) error  { return errors.New("out of order") }
func panics(context.Context, testSess, testResp) error { panic("out of order") }

// TestSpans_ofTheRuntimesOwn runs agents in programs that open no span.
func TestSpans_ofTheRuntimesOwn(t *testing.T) {
	turnEnd, iterationEnd := model.SnapshotEventTurnEnd, model.SnapshotEventToolIterationEnd
	for _, test := range []struct {
		name     string
		callback agent.SnapshotCallback[chat]
		steps    []step
		want     string
	}{
		{"no turn", always(), nil, "echo=[]"},
		{"turns", onTurns(), []step{turn("a"), turn("b"), turn("c")}, "echo= echo/turn=a[a] echo/turn=b[b] echo/turn=c[c]"},
		{"a state that comes again", onTurns(), []step{turn("a"), turn("b"), turn("a")}, "echo= echo/turn=a[a] echo/turn=b[b] echo/turn=a[a]"},
		{"the end of the invocation", always(), []step{turn("a"), turn("b")}, "echo=b[b] echo/turn=a[a] echo/turn=b[b]"},
		{"nothing captured", agent.SnapshotNever[chat](), []step{turn("a"), turn("b")}, "echo= echo/turn= echo/turn="},
		{"tool iterations", agent.SnapshotOn[chat](turnEnd, iterationEnd),
			[]step{inOrder(iteration("a"), iteration("b"), turn("c")), inOrder(iteration("d"), turn("e"))},
			"echo= echo/turn=c[a b c] echo/turn=e[d e]"},
		{"iterations only", agent.SnapshotOn[chat](iterationEnd), []step{inOrder(iteration("a"), turn("b")), turn("c")},
			"echo= echo/turn=a[a] echo/turn="},
		{"two ends for one input", onTurns(), []step{inOrder(turn("a"), turn("b"))}, "echo= echo/turn=a[a] echo/turn=b[b]"},
		{"a turn that is not ended", always(), []step{turn("a"), iteration("b")}, "echo=b[b] echo/turn=a[a] echo/turn=b[b b]"},
		{"an error", always(), []step{turn("a"), fails}, "echo=a[a]! echo/turn=a[a] echo/turn=a[a]!"},
		{"a panic", onTurns(), []step{turn("a"), panics}, "echo=! echo/turn=a[a] echo/turn=!"},
		{"a callback that panics", func(_ context.Context, s *agent.SnapshotContext[chat]) bool {
			return s.Event == turnEnd && (s.State.Words != "b" || s.Event == turnEnd && panicking())
		}, []step{turn("a"), turn("b"), turn("c")}, "echo=! echo/turn=a[a] echo/turn=! echo/turn=c[c]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				spans := tracetest.NewSpanRecorder()
				before := otel.GetTracerProvider()
				otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
				defer otel.SetTracerProvider(before)
				c := open(t, define(t, typedOn(fake.New()), test.callback), session("s"))
				for _, s := range test.steps {
					if err := c.Send(s); err != nil {
						t.Fatal(err)
					}
				}
				c.finish()
				if got := spanLines(t, spans, "a", "b", "c", "d", "e"); got != test.want {
					t.Errorf("spans\n %s\nwant\n %s", got, test.want)
				}
			})
		})
	}
}

func panicking() bool { panic("out of order") }

// TestSpans_insideTheProgramsOwn runs an agent below a span of a provider that is not the global one.
// Spans of the runtime join its trace. A span that is current in a tool is marked too.
func TestSpans_insideTheProgramsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
		ctx, caller := tracer.Start(t.Context(), "caller")
		a := define(t, typedOn(fake.New()), agent.SnapshotOn[chat](model.SnapshotEventToolIterationEnd, model.SnapshotEventTurnEnd))
		c := openIn(ctx, t, a, session("s"))
		inSpan := func(name string) step {
			return func(ctx context.Context, sess testSess, resp testResp) error {
				ctx, tools := tracer.Start(ctx, name)
				defer tools.End()
				return iteration(name)(ctx, sess, resp)
			}
		}
		idle := func(ctx context.Context, _ testSess, _ testResp) error {
			_, span := tracer.Start(ctx, "idle")
			span.End()
			return nil
		}
		c.do(inOrder(inSpan("one"), inSpan("two"), idle, turn("three")))
		c.do(turn("four"))
		c.end()
		caller.End()
		lines := strings.Fields(spanLines(t, spans, "one", "two", "three", "four"))
		slices.Sort(lines)
		want := []string{
			"caller/echo/idle=", "caller/echo/one=one[one]", "caller/echo/turn=four[four]",
			"caller/echo/turn=three[one", "caller/echo/two=two[two]", "caller/echo=", "caller=", "three]", "two",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("spans\n %q\nwant\n %q", lines, want)
		}
	})
}

// TestSpans_storeAndCallbackAreInTheTurn: what is done at the end of a turn belongs to the span of that turn.
func TestSpans_storeAndCallbackAreInTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
		ctx, caller := tracer.Start(t.Context(), "caller")
		a := define(t, typedOn(fake.New()), func(ctx context.Context, _ *agent.SnapshotContext[chat]) bool {
			_, span := tracer.Start(ctx, "decide")
			span.End()
			return false
		})
		c := openIn(ctx, t, a, session("s"))
		c.turns("a", "b")
		c.end()
		caller.End()
		lines := strings.Fields(spanLines(t, spans))
		slices.Sort(lines)
		want := "caller/echo/decide= caller/echo/turn/decide= caller/echo/turn/decide= caller/echo/turn= caller/echo/turn= caller/echo= caller="
		if got := strings.Join(lines, " "); got != want {
			t.Errorf("spans\n %s\nwant\n %s", got, want)
		}
	})
}

// TestSpans_areDrawnInTheREADME draws the trace of two turns, the first with two tool iterations.
func TestSpans_areDrawnInTheREADME(t *testing.T) {
	bubble(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		ctx, caller := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test").Start(t.Context(), "POST /chat")
		c := openIn(ctx, t, define(t, typedOn(fake.New()), always()), session("s"))
		c.do(inOrder(iteration("one"), iteration("two"), turn("three")))
		c.do(turn("four"))
		c.end()
		caller.End()
		var lines []string
		depths := map[trace.SpanID]int{}
		for _, s := range spans.Started() {
			span := s.(sdktrace.ReadOnlySpan)
			depth := depths[span.Parent().SpanID()]
			depths[span.SpanContext().SpanID()] = depth + 1
			line := fmt.Sprintf("%-16s", strings.Repeat("   ", max(depth-1, 0))+[]string{"", "└─ "}[min(depth, 1)]+span.Name())
			for _, e := range span.Events() {
				of := attribute.NewSet(e.Attributes...)
				id, _ := of.Value("genkit:metadata:snapshotId")
				event, _ := of.Value("event")
				line += fmt.Sprintf("  %.8s %s", id.AsString(), event.AsString())
			}
			lines = append(lines, strings.TrimRight(line, " "))
		}
		page, err := os.ReadFile("README.md")
		if picture := "```text\n" + strings.Join(lines, "\n") + "\n```\n"; err != nil || !strings.Contains(string(page), picture) {
			t.Errorf("README.md lacks the picture, %v:\n%s", err, picture)
		}
	})
}
