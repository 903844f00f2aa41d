package claudecode

import (
	"cmp"
	"iter"
	"strings"
	"sync"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// What Claude Code gives the model beside the prompt is an attachment: a file that the prompt
// names, CLAUDE.md, what a hook says, the list of skills. Since 2.1.3xx the record has the very
// text beside it, as "rendered"; before, Claude Code made it of the attachment's members.
//
//	{"type": "attachment", "attachment": {"type": "file", …}, "rendered": [{"content": TEXT or blocks}, …]}

// unsent are the types that 2.1.332 sends nothing of: notes to itself, or to the person.
var unsent = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"advisor_stripped": true, "already_read_file": true, "async_hook_response_batch": true, "attention_budget": true,
		"batching_reminder_sent": true, "command_permissions": true, "context_efficiency": true, "credential_org": true,
		"deferred_tools_record": true, "edited_image_file": true, "goal_status": true, "goals": true, "hook_cancelled": true,
		"hook_deferred_tool": true, "hook_error_during_execution": true, "hook_non_blocking_error": true,
		"hook_permission_decision": true, "hook_system_message": true, "max_turns_reached": true, "message_pdf_reads": true,
		"progress_reminder_sent": true, "project_doc_reads": true, "projects_thread_ask": true, "prompt_as_file": true,
		"prompt_render_point": true, promptSnapshot: true, "secondary_reminder_sent": true, "session_cron_carry": true,
		"structured_output": true, "teammate_shutdown_batch": true, "thinking_drop": true, "thinking_stripped": true,
		"tool_host_result_lines": true, "tool_offer_record": true, "tool_results_cut": true, "whole_texts_withdrawn": true,
		"withheld_memory": true,
	}
})

// hookSuccess is a type that is sent where the output of a hook of these events is context.
const hookSuccess = "hook_success"

var spokenHooks = map[string]bool{"SessionStart": true, "UserPromptSubmit": true, "UserPromptExpansion": true}

// promptSnapshot is the type of a system prompt that is sent from there on.
const promptSnapshot = "prompt_snapshot"

// queued is the type of a message that the user typed while the model worked.
const queued = "queued_command"

// texts has where the text of a type stands in its attachment. That of a type that is not here
// is every string in it.
var texts = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"directory": {"content"}, "edited_text_file": {"snippet"}, "file": {"content", "file", "content"}, hookSuccess: {"content"},
		"nested_memory": {"content", "content"}, "selected_lines_in_ide": {"content"}, "skill_listing": {"content"},
	}
})

// abouts are the members that tell what an attachment is about, the best one first.
var abouts = []string{"displayPath", "filename", "path", "filePath", "planFilePath", "uri", "name", "hookName"}

// unspoken are the members whose strings are no words of an attachment: its type, and what a
// picture or a document is made of.
var unspoken = map[string]bool{"type": true, "base64": true}

// attachment names an attachment: its type, and its subject.
type attachment struct{ is, about string }

// keepAttachment keeps what a record gives the model.
func (r *record) keepAttachment(v chat.Value) {
	a := v.Get(typeAttachment)
	is := a.Get("type").Text()
	r.prompts = is == promptSnapshot
	switch {
	case is == queued:
		r.keepMessage(v)
		r.event = eventQueued
	case isSent(v, is):
		r.given = &attachment{conversation.Cut(conversation.OneLine(is), mostWord), aboutOf(a)}
	}
}

// mostWord bounds the word for a type.
const mostWord = 80

// isSent reports whether Claude Code sends the model something of an attachment of a type.
func isSent(record chat.Value, is string) bool {
	switch a := record.Get(typeAttachment); {
	case record.Get("rendered").Kind() == jsontape.Array:
		return true
	case is == hookSuccess:
		return spokenHooks[a.Get("hookEvent").Text()] && a.Get("content").Text() != ""
	}
	return is != "" && !unsent()[is]
}

// aboutOf returns the subject of an attachment, such as a path; "" if it names none.
func aboutOf(a chat.Value) (about string) {
	for _, key := range abouts {
		about = cmp.Or(about, a.Get(key).Words())
	}
	return about
}

// titleLine returns the type and the subject of an attachment, on one line.
func (a *attachment) titleLine() string { return strings.TrimRight(a.is+" "+a.about, " ") }

// contextOf returns the text that an attachment adds to the model's input.
func contextOf(record chat.Value) chat.Block {
	a := record.Get(typeAttachment)
	is := a.Get("type").Text()
	return chat.ContextBlock(is, aboutOf(a), textOf(record, is))
}

// textOf returns the text that an attachment of a type gives the model.
func textOf(record chat.Value, is string) string {
	var parts []string
	for each := range record.Get("rendered").Each() {
		content := each.Get("content")
		if content.Kind() == jsontape.String {
			parts = append(parts, content.Text())
		}
		for block := range content.Each() {
			parts = append(parts, block.Get("text").Text())
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, "\n")
	}
	a := record.Get(typeAttachment)
	if text := a.Get(texts()[is]...); text.Kind() == jsontape.String {
		return text.Text()
	}
	var words []string
	said := map[string]bool{"": true}
	for text := range wordsIn(a) {
		if !said[text] {
			said[text] = true
			words = append(words, text)
		}
	}
	return strings.Join(words, "\n")
}

// wordsIn returns the strings in a value that are words.
func wordsIn(v chat.Value) iter.Seq[string] {
	return func(yield func(string) bool) {
		if v.Kind() == jsontape.String && !yield(v.Text()) {
			return
		}
		for each := range v.Each() {
			if unspoken[each.Key()] {
				continue
			}
			for text := range wordsIn(each) {
				if !yield(text) {
					return
				}
			}
		}
	}
}
