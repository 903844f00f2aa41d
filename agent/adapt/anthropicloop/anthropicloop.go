// Package anthropicloop records a loop around anthropic-sdk-go's Messages in a store of Hindcast:
//
//	loop, err := anthropicloop.Open(ctx, db, "support-17")
//	…
//	_, err = loop.LoadMessages(&params) // the messages so far, or those that a person went back to
//	…
//	answer, err := client.Messages.New(ctx, params)
//	…
//	err = loop.AppendAnswer(ctx, &params, answer)               // params has the answer, and so has the store
//	err = loop.AppendResults(ctx, &params, toolResults…) // if the answer has calls
//
// A visit holds the whole request that the next answer would be asked with: model, system prompt, tools and messages. Its
// attributes are the answer's model, its stop_reason and its tokens, those in the cache with the others. An answer with calls is kept
// at once, and with the results in the same visit, when they are there. No id of an answer is an alias: not every server tells its
// answers apart.
package anthropicloop

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"

	"hindcast/agent/record"
	"hindcast/store/native/typed"
)

// Loop records one session. It is safe for concurrent use as a record.Recorder is; params are the caller's own.
type Loop struct{ rec *record.Recorder }

// Open returns a Loop that goes on where a session stands, or begins it. It writes nothing. db is a *sqlite.Store or
// a *postgres.Store. It returns the errors of record.Open.
func Open(ctx context.Context, db typed.Recording, session string) (*Loop, error) {
	rec, err := record.Open(ctx, db, session)
	return &Loop{rec}, err
}

// LoadMessages sets the messages of params to the messages of the session's last visit, and reports whether there is one. All else in params
// stays as it is. If the last message has calls whose results are missing, as after a crash, the caller makes them now, as
// [PendingCalls] says, and appends their results. The error is that of encoding/json.
func (l *Loop) LoadMessages(params *anthropic.MessageNewParams) (bool, error) {
	var state struct {
		Messages []anthropic.MessageParam `json:"messages"`
	}
	ok, err := l.rec.LoadState(&state)
	if ok && err == nil {
		params.Messages = state.Messages
	}
	return ok, err
}

// PendingCalls returns the calls of tools in the last message of params, which have no results yet.
func PendingCalls(params *anthropic.MessageNewParams) (calls []anthropic.ToolUseBlockParam) {
	if len(params.Messages) == 0 {
		return nil
	}
	for _, block := range params.Messages[len(params.Messages)-1].Content {
		if block.OfToolUse != nil {
			calls = append(calls, *block.OfToolUse)
		}
	}
	return calls
}

// AppendAnswer appends an answer to the messages of params, and records them: as the end of the turn, or within it if the answer
// has calls or only pauses. It returns the errors of [record.Recorder.Turn]; params has the answer then, too, and may be recorded
// with the next one.
func (l *Loop) AppendAnswer(ctx context.Context, params *anthropic.MessageNewParams, answer *anthropic.Message) error {
	params.Messages = append(params.Messages, answer.ToParam())
	options := []record.Option{record.WithAttribute("model", answer.Model), record.WithAttribute("stop_reason", answer.StopReason)}
	if u := answer.Usage; u.InputTokens != 0 || u.OutputTokens != 0 {
		options = append(options, record.WithAttribute("input_tokens", u.InputTokens+u.CacheReadInputTokens+u.CacheCreationInputTokens),
			record.WithAttribute("output_tokens", u.OutputTokens))
	}
	if len(PendingCalls(params)) == 0 && answer.StopReason != anthropic.StopReasonPauseTurn {
		return l.rec.Turn(ctx, params, options...)
	}
	return l.rec.Tool(ctx, params, options...)
}

// AppendResults appends the results of the calls in the last answer to the messages of params, as one message of the user's, and
// records them in the visit of that answer. It returns the errors of [record.Recorder.Amend].
func (l *Loop) AppendResults(ctx context.Context, params *anthropic.MessageNewParams, results ...anthropic.ContentBlockParamUnion) error {
	params.Messages = append(params.Messages, anthropic.NewUserMessage(results...))
	return l.rec.Amend(ctx, params)
}
