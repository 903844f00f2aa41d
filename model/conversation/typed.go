package conversation

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"sync"
)

// What a person typed.
//
// Agents and editors put texts around a prompt, in the same message and in messages of their own:
//
//	<system-reminder>…</system-reminder>                          a block that the agent wrote
//	# Context from my IDE setup: … ## My request for Codex: ls    the prompt is behind a heading
//	<user_query>ls</user_query>                                   the prompt is in a block
//	<command-name>/review</command-name><command-args>12</…>      a slash command, as it is kept
//	[Image #1] what is it                                         a place of an attachment
//
// A session is called by the first words that a person typed.

// Typed says who a text of a user's message is by.
type Typed uint8

// Who it is by.
const (
	Wrapped Typed = iota // the program alone
	Prompt               // a person, to the model
	Setting              // a person, to the program: "/model opus"
)

// mostTyped bounds how many bytes of a text are searched for typed words: a file may stand before the
// prompt.
const mostTyped = 256 << 10

// mostBlocks bounds the blocks that are passed before the words of a person.
const mostBlocks = 64

// blocks has the tags that programs write around a prompt, with the kind of content in each. Sources:
// Claude Code 2.1.332, its extensions for VS Code and JetBrains; codex-rs/core/src/context; Gemini CLI
// 0.61; VS Code Copilot Chat 0.34; Cursor, Cline and Roo by their public transcripts.
var blocks = sync.OnceValue(func() map[string]part {
	return map[string]part{
		"reminder": aside, "reminderInstructions": aside, "ide_opened_file": aside, "ide_selection": aside,
		"command-contents": aside, "INSTRUCTIONS": aside, "permissions instructions": aside,
		"collaboration_mode": aside, "skill": aside, "turn_aborted": aside, "user_shell_command": aside, "user_action": aside,
		"personality_spec": aside, "model_switch": aside, "editorContext": aside, "attachments": aside, "attachment": aside,
		"context": aside, "userPreferences": aside, "current_datetime": aside, "toolReferences": aside,
		"project_layout": aside, "git_status": aside, "rules": aside, "attached_files": aside,
		"open_and_recently_viewed_files": aside, "additional_data": aside, "agent_skills": aside, "timestamp": aside,
		"file_content": aside, "EXTRA_INFO": aside, "teammate-message": aside, "local-command-output": aside,
		"environment_info": aside, "workspace_info": aside, "user_info": aside, "environment_details": aside,
		"image": picture, "images": picture, "file": aside,
		"user_query": prompt, "userRequest": prompt, "user_message": prompt, "user_request": prompt, "user_prompt": prompt,
		"user_input": prompt, "mode_notice": aside, "task": prompt, "feedback": prompt, "answer": prompt, "issue_description": prompt,
		"command-name": command, "command-message": command, "command-args": command, "bash-input": shell,
	}
})

// part classifies a block by the part of the prompt in it.
type part uint8

const (
	aside   part = iota + 1 // by the program
	picture                 // a tag around an attachment: what follows is no part of it where the tag is not closed
	prompt                  // around the words of the person
	command                 // a part of a slash command
	shell                   // around what a person ran
)

// ownBlocks are the tags around texts about the agent itself, its machine and its rules. Another agent has its own. Sources:
// as of blocks.
var ownBlocks = []string{
	"environment_context", "permissions instructions", "collaboration_mode", "skills_instructions", "user_instructions", "INSTRUCTIONS",
	"apps_instructions", "plugins_instructions", "personality_spec", "model_switch", "system-reminder", "session_context",
	"environment_info", "workspace_info", "environment_details", "git_status", "project_layout", "user_info", "agent_skills", "turn_aborted",
	"local-command-caveat", "local-command-stdout", "local-command-stderr", "command-name", "command-message", "command-args", "command-contents",
}

// IsOwn reports whether a text is only blocks in which an agent tells the model about itself. A slash command is, where
// it says something to the program and nothing to the model.
func IsOwn(text string) bool {
	if _, by := WordsTyped(text); by == Prompt {
		return false
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if rest, ok := behindHeading(text); ok && strings.HasPrefix(text, "# AGENTS.md") {
			text = rest
			continue
		}
		name, _, rest, closed := taggedBlock(text)
		if !closed || !slices.Contains(ownBlocks, name) {
			return false
		}
		text = rest
	}
	return true
}

// asideEnds end the names of tags around what a program writes, such as <session-start-hook>.
var asideEnds = []string{
	"reminder", "instructions", "context", "hook", "notification", "stdout", "stderr", "caveat", "diagnostics",
}

// kindOf returns the kind of the block of a tag, or 0 for a tag that a person may have typed, such as
// <div>.
func kindOf(name string) part {
	if is := blocks()[name]; is != 0 {
		return is
	}
	if at := strings.LastIndexAny(name, "-_"); at > 0 && slices.Contains(asideEnds, name[at+1:]) {
		return aside
	}
	return 0
}

// headings stand before the words of the person, behind what an editor wrote: opens begins that.
var headings = []struct{ opens, prompt string }{
	{"# Context from my IDE setup", "## My request for "},
	{"# Files mentioned by the user", "## My request for "},
	{"# AGENTS.md", "</INSTRUCTIONS>"},
	{"# Applications mentioned by the user", "## My request for "},
}

// notes begin texts that are by the program as a whole.
var notes = []string{
	"Caveat: The messages below were generated by the user while running local commands.",
	"[Request interrupted by user", "This session is being continued from a previous conversation",
	"# AGENTS.md", "# Context from my IDE setup", "Base directory for this skill:",
}

// behind begins what Gemini CLI adds behind the words of the person, on a line of its own.
const behind = "--- Content from referenced files ---"

// settings are the slash commands that say something to the program and nothing to the model.
var settings = map[string]bool{
	"/clear": true, "/model": true, "/config": true, "/settings": true, "/cost": true, "/usage": true, "/stats": true, "/login": true,
	"/logout": true, "/compact": true, "/compress": true, "/resume": true, "/exit": true, "/quit": true, "/help": true, "/status": true,
	"/statusline": true, "/mcp": true, "/permissions": true, "/approvals": true, "/memory": true, "/doctor": true, "/ide": true,
	"/terminal-setup": true, "/vim": true, "/hooks": true, "/agents": true, "/context": true, "/theme": true, "/output-style": true,
	"/add-dir": true, "/export": true, "/rewind": true, "/branch": true, "/fork": true, "/fast": true, "/effort": true, "/plugin": true,
	"/reload-plugins": true, "/release-notes": true, "/upgrade": true, "/privacy-settings": true, "/todos": true, "/tasks": true,
	"/color": true, "/rename": true, "/bug": true, "/feedback": true, "/new": true, "/auth": true, "/chat": true, "/tools": true,
	"/sandbox": true, "/extra-usage": true, "/migrate-installer": true, "/install-github-app": true, "/skills": true, "/keybindings": true,
}

// WordsTyped returns the part of a user's message that a person typed, or "" if the program wrote all of
// it. The words are untrusted, and may have several lines.
func WordsTyped(text string) (words string, by Typed) {
	if len(text) > mostTyped {
		text = strings.ToValidUTF8(text[:mostTyped], "")
	}
	text = strings.TrimSpace(text)
	var slash, args string
	for passed := 0; text != ""; {
		if rest, ok := behindHeading(text); ok {
			text = rest
			continue
		}
		if rest, ok := behindPlace(text); ok {
			text = rest
			continue
		}
		name, inside, rest, closed := taggedBlock(text)
		is := kindOf(name)
		if is == 0 || is == shell || passed == mostBlocks {
			break
		}
		if passed++; is == prompt {
			text = strings.TrimSpace(inside)
			continue
		}
		if is == command {
			inside = strings.TrimSpace(inside)
			switch name {
			case "command-name":
				slash = inside
			case "command-args":
				args = inside
			default:
				if said := strings.Fields(inside); slash == "" && len(said) > 0 {
					slash = said[0]
				}
			}
		}
		if text = strings.TrimSpace(rest); !closed && is != picture {
			text = ""
		}
	}
	if slash != "" {
		slash = "/" + strings.TrimLeft(slash, "/")
		if settings[slash] {
			by = Setting
		} else {
			by = Prompt
		}
		return strings.TrimSpace(slash + " " + args), by
	}
	if name, inside, _, _ := taggedBlock(text); blocks()[name] == shell {
		return "!" + strings.TrimSpace(inside), Setting
	}
	for _, note := range notes {
		if strings.HasPrefix(text, note) {
			return "", Wrapped
		}
	}
	text = strings.TrimSpace(text[:endOfWords(text)])
	if text == "" {
		return "", Wrapped
	}
	if first, _, _ := strings.Cut(text, " "); settings[first] {
		return text, Setting
	}
	return text, Prompt
}

// endOfWords returns the offset of the first line that a program added behind the words of the person, or
// len(text).
func endOfWords(text string) int {
	at := 0
	for line := range strings.Lines(text) {
		if name, _, _, _ := taggedBlock(line); at > 0 && kindOf(name) == aside || strings.HasPrefix(line, behind) {
			return at
		}
		at += len(line)
	}
	return at
}

// IsPlain reports whether a person typed all of the beginning of a text to the model, as WordsTyped judges.
// It looks less closely, and so reports false for some texts that a person typed. It copies nothing.
func IsPlain(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && !bytes.ContainsRune([]byte("<[#/"), rune(text[0])) && !bytes.Contains(text, []byte("\n<")) && !bytes.Contains(text, []byte("\n---")) &&
		!slices.ContainsFunc(notes, func(note string) bool { return bytes.HasPrefix(text, []byte(note)) })
}

// FirstTyped returns the first words that a person typed in the texts of a message, as WordsTyped
// does: a block may begin in one text and end in another.
func FirstTyped(texts iter.Seq[string]) (words string, by Typed) {
	all, n := "", 0
	for text := range texts {
		all += text + "\n"
		words, by = WordsTyped(all)
		n++
		if by != Wrapped && !strings.HasPrefix(all, "<command-") || n == mostBlocks || len(all) >= mostTyped {
			break
		}
	}
	return words, by
}

// taggedBlock returns the block that a text begins with: the name of its tag, what is inside, and what follows;
// "" if the text does not begin with a block. closed reports whether the end is in the text.
func taggedBlock(text string) (name, inside, rest string, closed bool) {
	if !strings.HasPrefix(text, "<") {
		return "", "", "", false
	}
	const longest = 4 << 10
	end := strings.IndexByte(text[:min(len(text), longest)], '>')
	if end < 0 {
		return "", "", "", false
	}
	name = text[1:end]
	if kindOf(name) == 0 { // it may have attributes
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "/"), " ")
	}
	inside = text[end+1:]
	if strings.HasPrefix(name, "/") { // the end of a tag that was passed
		return name[1:], "", inside, true
	}
	if strings.HasSuffix(text[:end], "/") {
		return name, "", inside, true
	}
	inside, rest, closed = strings.Cut(inside, "</"+name+">")
	if !closed {
		rest = inside
	}
	return name, inside, rest, closed
}

// behindHeading returns the text after the heading of the prompt, if an editor began the text. It returns
// false for another text, or without the heading.
func behindHeading(text string) (rest string, ok bool) {
	for _, h := range headings {
		if !strings.HasPrefix(text, h.opens) {
			continue
		}
		if at := strings.LastIndex(text, h.prompt); at >= 0 {
			rest = text[at+len(h.prompt):]
			if strings.HasPrefix(h.prompt, "#") { // the heading ends with its line
				_, rest, _ = strings.Cut(rest, "\n")
			}
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// behindPlace returns the text after the placeholder of an attachment, such as "[Image #1]".
func behindPlace(text string) (rest string, ok bool) {
	for _, place := range []string{"[Image", "[image", "[Pasted text", "[Attachment", "[File #"} {
		if !strings.HasPrefix(text, place) {
			continue
		}
		if end := strings.IndexByte(text, ']'); end >= 0 && end < 200 {
			return strings.TrimSpace(text[end+1:]), true
		}
	}
	return "", false
}

// UnwrapText returns a text that a program wrote for the user without the tags around it: the words inside, or of a
// list of elements each behind its name. An element that sums the others up stands for them. Another text stays as
// it is.
func UnwrapText(text string) string {
	var said []string
	for {
		name, inside, rest, closed := taggedBlock(text)
		if kindOf(name) == 0 {
			break
		}
		if !closed {
			rest = ""
		}
		if inside = joinElements(strings.TrimSpace(inside)); inside != "" {
			said = append(said, inside)
		}
		if text = strings.TrimSpace(rest); text == "" && len(said) == 0 {
			return "(no content)"
		}
	}
	if len(said) == 0 {
		return text
	}
	return strings.TrimSpace(strings.Join(said, " ") + " " + text)
}

// joinElements returns a list of elements as their names and words, any other text as it is.
func joinElements(text string) string {
	var list []string
	for rest := text; rest != ""; {
		tag, behind, ok := strings.Cut(rest, ">")
		if name, is := strings.CutPrefix(tag, "<"); !ok || !is || strings.ContainsAny(name, " /<\n") {
			return text
		}
		words, after, _ := strings.Cut(behind, "</"+tag[1:]+">")
		if tag == "<summary" {
			return strings.TrimSpace(words)
		}
		list, rest = append(list, tag[1:]+": "+strings.TrimSpace(words)), strings.TrimSpace(after)
	}
	return strings.Join(list, ", ")
}
