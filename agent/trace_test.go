package agent_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store/storetest/fake"
)

func TestTracing_spanOfACapture(t *testing.T) {
	bubble(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
		ctx, caller := tracer.Start(t.Context(), "caller")
		a := define(t, typedOn(fake.New()), agent.SnapshotOn[chat](model.SnapshotEventToolIterationEnd, model.SnapshotEventTurnEnd))
		c := openIn(ctx, t, a, session("s"))
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			for _, words := range []string{"one", "two"} {
				ctx, tools := tracer.Start(ctx, words)
				sess.UpdateState(ctx, chat{words})
				if err := agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd); err != nil {
					t.Error(err)
				}
				tools.End()
			}
			_, idle := tracer.Start(ctx, "idle")
			idle.End()
			return turn("three")(ctx, sess, resp)
		})
		c.end()
		caller.End()
		marked := map[string]string{"one": idOf("one"), "two": idOf("two"), "idle": "", "caller": idOf("three")}
		for _, span := range spans.Ended() {
			set := attribute.NewSet(span.Attributes()...)
			id, _ := set.Value("genkit:metadata:snapshotId")
			name, _ := set.Value("genkit:metadata:agent")
			want, known := marked[span.Name()]
			if delete(marked, span.Name()); !known || id.AsString() != want || (name.AsString() == "echo") != (want != "") {
				t.Errorf("span %q says %v", span.Name(), span.Attributes())
			}
		}
		if len(marked) > 0 {
			t.Errorf("there were no spans %v", marked)
		}
	})
}
