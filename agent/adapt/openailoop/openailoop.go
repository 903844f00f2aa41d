// Package openailoop records a loop around openai-go in a store of Hindcast, with [Chat] for chat completions and
// [Responses] for the Responses API:
//
//	loop, err := openailoop.OpenChat(ctx, db, "support-17")
//	…
//	_, err = loop.LoadMessages(&params) // the messages so far, or those that a person went back to
//	…
//	answer, err := client.Chat.Completions.New(ctx, params)
//	…
//	err = loop.AppendAnswer(ctx, &params, answer)               // params has the answer, and so has the store
//	err = loop.AppendResults(ctx, &params, toolMessages…) // if the answer has calls
//
// A visit holds the whole request that the next answer would be asked with: model, instructions, tools and messages. Its
// attributes are the answer's model, its finish_reason or status, and its tokens. An answer with calls is kept at once, and with
// the results in the same visit, when they are there. No id of an answer is an alias: not every server tells its answers apart.
package openailoop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"hindcast/agent/record"
	"hindcast/store/native/typed"
)

// ErrNoChoice: a completion has no choice that could be appended.
var ErrNoChoice = errors.New("the completion has no choice")

// Chat records one session of chat completions. It is safe for concurrent use as a record.Recorder is; params are the
// caller's own.
type Chat struct{ rec *record.Recorder }

// OpenChat returns a Chat that goes on where a session stands, or begins it. It writes nothing. db is a *sqlite.Store or a
// *postgres.Store. It returns the errors of record.Open.
func OpenChat(ctx context.Context, db typed.Recording, session string) (*Chat, error) {
	rec, err := record.Open(ctx, db, session)
	return &Chat{rec}, err
}

// LoadMessages sets the messages of params to the messages of the session's last visit, and reports whether there is one. All else in params
// stays as it is. If the last message has calls whose results are missing, as after a crash, the caller makes them now, as
// [PendingCalls] says, and appends their results. The error is that of encoding/json.
func (c *Chat) LoadMessages(params *openai.ChatCompletionNewParams) (bool, error) {
	var state struct {
		Messages []openai.ChatCompletionMessageParamUnion `json:"messages"`
	}
	ok, err := c.rec.LoadState(&state)
	if ok && err == nil {
		params.Messages = state.Messages
	}
	return ok, err
}

// PendingCalls returns the calls of tools in the last message of params, which have no results yet.
func PendingCalls(params *openai.ChatCompletionNewParams) []openai.ChatCompletionMessageToolCallUnionParam {
	if n := len(params.Messages); n > 0 {
		if last := params.Messages[n-1].OfAssistant; last != nil {
			return last.ToolCalls
		}
	}
	return nil
}

// AppendAnswer appends the first choice of an answer to the messages of params, and records them: as the end of the turn, or within it
// if the choice has calls. It returns ErrNoChoice and the errors of [record.Recorder.Turn]; params has the answer after
// the latter, too, and may be recorded with the next one.
func (c *Chat) AppendAnswer(ctx context.Context, params *openai.ChatCompletionNewParams, answer *openai.ChatCompletion) error {
	if len(answer.Choices) == 0 {
		return ErrNoChoice
	}
	choice := answer.Choices[0]
	params.Messages = append(params.Messages, choice.Message.ToParam())
	write := c.rec.Tool
	if len(PendingCalls(params)) == 0 {
		write = c.rec.Turn
	}
	return write(ctx, params, attributesOf(answer.Model, "finish_reason", choice.FinishReason, answer.Usage.PromptTokens, answer.Usage.CompletionTokens)...)
}

// AppendResults appends the results of the calls in the last answer to the messages of params, and records them in the visit
// of that answer. It returns the errors of [record.Recorder.Amend].
func (c *Chat) AppendResults(ctx context.Context, params *openai.ChatCompletionNewParams, results ...openai.ChatCompletionMessageParamUnion) error {
	params.Messages = append(params.Messages, results...)
	return c.rec.Amend(ctx, params)
}

// Responses records one session of the Responses API whose input is sent whole each time, without previous_response_id. It is safe for
// concurrent use as a record.Recorder is; params are the caller's own.
type Responses struct{ rec *record.Recorder }

// OpenResponses returns a Responses that goes on where a session stands, or begins it, as OpenChat does.
func OpenResponses(ctx context.Context, db typed.Recording, session string) (*Responses, error) {
	rec, err := record.Open(ctx, db, session)
	return &Responses{rec}, err
}

// LoadInput sets the input of params to the items of the session's last visit, as [Chat.LoadMessages] does with messages.
func (r *Responses) LoadInput(params *responses.ResponseNewParams) (bool, error) {
	var state struct {
		Input []json.RawMessage `json:"input"`
	}
	ok, err := r.rec.LoadState(&state)
	if !ok || err != nil {
		return ok, err
	}
	items := make(responses.ResponseInputParam, len(state.Input))
	for n, text := range state.Input {
		if err := decodeItem(text, &items[n]); err != nil {
			return true, fmt.Errorf("openailoop: item %d of the input: %w", n, err)
		}
	}
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
	return true, nil
}

// decodeItem decodes an item. A message may be sent without its type, and openai-go decodes none without it.
func decodeItem(text []byte, item *responses.ResponseInputItemUnionParam) error {
	var head struct{ Type, Role string }
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	if members, ok := bytes.CutPrefix(text, []byte("{")); ok && head.Type == "" && head.Role != "" {
		text = append([]byte(`{"type":"message",`), members...)
	}
	return json.Unmarshal(text, item)
}

// PendingFunctionCalls returns the calls of functions at the end of the input of params, which have no outputs yet, in order.
func PendingFunctionCalls(params *responses.ResponseNewParams) (calls []responses.ResponseFunctionToolCallParam) {
	done := map[string]bool{}
	for _, item := range params.Input.OfInputItemList {
		if item.OfFunctionCallOutput != nil {
			done[item.OfFunctionCallOutput.CallID.Value] = true
		}
	}
	for _, item := range params.Input.OfInputItemList {
		if call := item.OfFunctionCall; call != nil && !done[call.CallID] {
			calls = append(calls, *call)
		}
	}
	return calls
}

// AppendAnswer appends the items of an answer to the input of params, and records them: as the end of the turn, or within it if the
// answer has calls. It returns the errors of encoding/json and [record.Recorder.Turn].
func (r *Responses) AppendAnswer(ctx context.Context, params *responses.ResponseNewParams, answer *responses.Response) error {
	if words := params.Input.OfString; words.Valid() { // the short form of one message
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(words.Value, responses.EasyInputMessageRoleUser)}}
	}
	for _, item := range answer.Output {
		var input responses.ResponseInputItemUnionParam
		if err := decodeItem([]byte(item.RawJSON()), &input); err != nil {
			return fmt.Errorf("openailoop: an item of answer %q: %w", answer.ID, err)
		}
		params.Input.OfInputItemList = append(params.Input.OfInputItemList, input)
	}
	write := r.rec.Tool
	if len(PendingFunctionCalls(params)) == 0 {
		write = r.rec.Turn
	}
	return write(ctx, params, attributesOf(answer.Model, "status", string(answer.Status), answer.Usage.InputTokens, answer.Usage.OutputTokens)...)
}

// AppendOutputs appends the outputs of the calls in the last answer to the input of params, and records them in the visit of that
// answer. It returns the errors of [record.Recorder.Amend].
func (r *Responses) AppendOutputs(ctx context.Context, params *responses.ResponseNewParams, outputs ...responses.ResponseInputItemUnionParam) error {
	params.Input.OfInputItemList = append(params.Input.OfInputItemList, outputs...)
	return r.rec.Amend(ctx, params)
}

// attributesOf returns the attributes that an answer gives its visit. endedName is the name that the API has for how it ended.
func attributesOf(model, endedName, ended string, in, out int64) []record.Option {
	options := []record.Option{record.WithAttribute("model", model), record.WithAttribute(endedName, ended)}
	if in != 0 || out != 0 {
		options = append(options, record.WithAttribute("input_tokens", in), record.WithAttribute("output_tokens", out))
	}
	return options
}
