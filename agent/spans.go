package agent

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"hindcast/model"
)

// spans are the trace spans of one invocation: its own, and below it one for each turn.
type spans struct {
	agent      string
	tracer     trace.Tracer
	invocation trace.Span
	// ctx has the invocation's span as the current one.
	ctx context.Context

	mu sync.Mutex
	// turn is nil between two turns.
	turn  trace.Span
	ended bool
}

// startSpans starts the span of an invocation, named after the agent. The provider is that of the
// caller's span, else the global one; without a provider nothing is recorded.
func startSpans(ctx context.Context, agent string) *spans {
	provider := otel.GetTracerProvider()
	if caller := trace.SpanFromContext(ctx); caller.IsRecording() {
		provider = caller.TracerProvider()
	}
	s := &spans{agent: agent, tracer: provider.Tracer("hindcast/agent")}
	s.ctx, s.invocation = s.tracer.Start(ctx, agent)
	return s
}

// beginTurn starts the span of a turn, unless the invocation is in one or has ended.
func (s *spans) beginTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil && !s.ended {
		_, s.turn = s.tracer.Start(s.ctx, "turn")
	}
}

// inTurn returns ctx with the span of the turn as the current one. It returns ctx as it is at the
// end of the invocation, and where the current span is one of the program's own.
func (s *spans) inTurn(ctx context.Context, m moment) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || m.event == model.SnapshotEventInvocationEnd || !isSameSpan(trace.SpanFromContext(ctx), s.invocation) {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.turn)
}

// markSpans puts a snapshot on the current span, and on the span of the turn if it is another. The attributes
// describe the last snapshot on the span; an event for each snapshot keeps the others.
func (s *spans) markSpans(ctx context.Context, id string, event model.SnapshotEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := trace.SpanFromContext(ctx)
	marked := []trace.Span{current}
	if s.turn != nil && !isSameSpan(current, s.turn) {
		marked = append(marked, s.turn)
	}
	snapshotID := attribute.String("genkit:metadata:snapshotId", id)
	for _, span := range marked {
		span.SetAttributes(snapshotID, attribute.String("genkit:metadata:agent", s.agent))
		span.AddEvent("snapshot", trace.WithAttributes(snapshotID, attribute.String("event", event.String())))
	}
}

// endTurn ends the span of the turn, if there is one. err may be nil.
func (s *spans) endTurn(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		endSpan(s.turn, err)
		s.turn = nil
	}
}

// endSpans ends the span of the invocation with err, and that of a turn that is not over with inTurn.
// Both errors may be nil.
func (s *spans) endSpans(inTurn, err error) {
	s.endTurn(inTurn)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	endSpan(s.invocation, err)
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// isSameSpan reports whether two spans have one id. Spans need not be comparable.
func isSameSpan(a, b trace.Span) bool { return a.SpanContext().SpanID() == b.SpanContext().SpanID() }
