package handover

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"hindcast/model/jsontape"
)

// A call of one agent's tool becomes one of another agent's where both do the same work and each argument has a place.
//
//	Bash {command, description}   exec_command {cmd}     a description is left out
//	Read {file_path, offset: 3}   view {path, view_range: [3, -1]}
//	Grep {pattern, output_mode}   Grep, as it is         nothing else has such an argument
//
// Sources: the tools that the agents sent to a model, Claude Code 2.1, Codex 0.171, Gemini CLI 0.61, opencode 1.18,
// Copilot CLI 1.0, pi 1.6 and Qwen Code 0.24, and in older sessions.

// tool is a tool of an agent.
type tool struct {
	// name is the agent's word, and work names the work of the tool.
	name, work string
	// arguments maps each argument to its meaning, "" if another agent need not know it.
	arguments map[string]string
}

// toolTable has the tools of each agent. Calls become the first tool of the same work:
//
//	name work argument=meaning… -argument that is left out…
//
// The meanings of lines: first and count, last, zero for a first that is counted from 0, and range for a list of the first and
// the last one.
var toolTable = map[string]string{
	"claude-code": `
		Bash run command=command -description -timeout -dangerouslyDisableSandbox
		Read read file_path=path offset=first limit=count
		Write write file_path=path content=text
		Edit edit file_path=path old_string=old new_string=new replace_all=all
		Grep search pattern=pattern path=path glob=files
		Glob find pattern=pattern path=path
		LS list path=path`,
	"codex": `
		exec_command run cmd=command workdir=dir -yield_time_ms -max_output_tokens -login -shell -tty -justification -sandbox_permissions -prefix_rule
		shell run command=command workdir=dir -timeout_ms -timeout -justification -sandbox_permissions -with_escalated_permissions
		shell_command run command=command workdir=dir -timeout_ms -login -justification -sandbox_permissions -prefix_rule`,
	"pi": `
		bash run command=command -timeout
		read read path=path offset=first limit=count
		write write path=path content=text
		edit edit path=path oldText=old newText=new
		grep search pattern=pattern path=path glob=files
		find find pattern=pattern path=path
		ls list path=path`,
	"gemini-cli": `
		run_shell_command run command=command dir_path=dir -description
		read_file read file_path=path start_line=first end_line=last
		read_file read absolute_path=path offset=zero limit=count
		write_file write file_path=path content=text
		replace edit file_path=path old_string=old new_string=new allow_multiple=all -instruction
		grep_search search pattern=pattern dir_path=path include_pattern=files
		search_file_content search pattern=pattern dir_path=path include=files
		glob find pattern=pattern dir_path=path
		list_directory list dir_path=path`,
	"opencode": `
		bash run command=command workdir=dir -description -timeout
		read read filePath=path offset=first limit=count
		write write filePath=path content=text
		edit edit filePath=path oldString=old newString=new replaceAll=all
		grep search pattern=pattern path=path include=files
		glob find pattern=pattern path=path
		list list path=path`,
	"copilot-cli": `
		bash run command=command -description -timeout -initial_wait -mode -sessionId -async
		view read path=path view_range=range -forceReadLargeFiles
		create write path=path file_text=text
		edit edit path=path old_str=old new_str=new
		str_replace edit path=path old_str=old new_str=new
		grep search pattern=pattern paths=path glob=files
		glob find pattern=pattern paths=path`,
	"qwen": `
		run_shell_command run command=command directory=dir -description -timeout -is_background
		read_file read file_path=path offset=zero limit=count
		read_file read absolute_path=path offset=zero limit=count
		write_file write file_path=path content=text
		edit edit file_path=path old_string=old new_string=new replace_all=all
		grep_search search pattern=pattern path=path glob=files
		glob find pattern=pattern path=path
		list_directory list path=path`,
}

// allTools has the table by the names of agents.
var allTools = sync.OnceValue(func() map[string][]tool {
	all := map[string][]tool{}
	for agent, text := range toolTable {
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			t := tool{words[0], words[1], map[string]string{}}
			for _, word := range words[2:] {
				argument, meaning, _ := strings.Cut(strings.TrimPrefix(word, "-"), "=")
				t.arguments[argument] = meaning
			}
			all[agent] = append(all[agent], t)
		}
	}
	return all
})

// toolPair converts the calls of one agent to calls of another. dir is the folder of the project, in which commands run.
type toolPair struct {
	from, to []tool
	same     bool
	dir      string
}

// pairTools returns the pair of two kinds of store. Of a kind without tools in the table calls stay as they are.
func pairTools(from, to, dir string) toolPair {
	return toolPair{allTools()[from], allTools()[to], from == to, dir}
}

// convert returns a call as one of the other agent's tools. A call that has no place there keeps its input, and its name with
// the characters that providers take.
func (p *toolPair) convert(name string, input json.RawMessage) (string, json.RawMessage) {
	if !p.same {
		for _, from := range p.from {
			if from.name != name {
				continue
			}
			means, ok := from.readInput(input)
			if !ok {
				continue
			}
			for _, to := range p.to {
				if to.work != from.work {
					continue
				}
				if converted, ok := to.writeInput(means, p.dir); ok {
					return to.name, converted
				}
			}
		}
	}
	return acceptedName(name), input
}

// readInput returns the arguments of a call by their meanings, each as JSON; false if one has no meaning.
func (t *tool) readInput(input json.RawMessage) (means map[string]json.RawMessage, ok bool) {
	var arguments map[string]json.RawMessage
	if json.Unmarshal(input, &arguments) != nil {
		return nil, false
	}
	means = map[string]json.RawMessage{}
	for name, value := range arguments {
		meaning, known := t.arguments[name]
		switch {
		case !known:
			return nil, false
		case meaning != "" && string(value) != "null":
			means[meaning] = value
		}
	}
	if command, list := commandOf(means["command"]); list {
		means["command"] = command
	}
	if string(means["all"]) == "false" {
		delete(means, "all")
	}
	return means, unifyLines(means)
}

// commandOf returns the command that a list of words runs, as a JSON string.
func commandOf(value json.RawMessage) (command json.RawMessage, isList bool) {
	var words []string
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &words) != nil || len(words) == 0 {
		return value, false
	}
	text := strings.Join(words, " ")
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		text = words[2] // a shell runs it
	}
	return jsontape.AppendQuoted(nil, text), true
}

// unifyLines has first and last stand for the lines of a read; last may be missing. It returns false for no such lines.
func unifyLines(means map[string]json.RawMessage) bool {
	number := func(meaning string) (n int, there bool) {
		value, there := means[meaning]
		return n, there && json.Unmarshal(value, &n) == nil && n >= 0
	}
	keep := func(meaning string, n int) { means[meaning], _ = json.Marshal(n) }
	for _, meaning := range []string{"first", "zero", "count", "last"} {
		if _, ok := number(meaning); !ok && means[meaning] != nil {
			return false
		}
	}
	if zero, ok := number("zero"); ok {
		keep("first", zero+1)
		delete(means, "zero")
	}
	if value := means["range"]; value != nil {
		var list []int
		if json.Unmarshal(value, &list) != nil || len(list) != 2 || list[0] < 1 {
			return false
		}
		keep("first", list[0])
		if delete(means, "range"); list[1] >= list[0] {
			keep("last", list[1])
		}
	}
	if count, ok := number("count"); ok {
		first, _ := number("first")
		keep("last", max(first, 1)+count-1)
		delete(means, "count")
	}
	if first, ok := number("first"); ok && first <= 1 {
		delete(means, "first")
	}
	return true
}

// writeInput returns the arguments of a call from their meanings; false if one has no place.
func (t *tool) writeInput(means map[string]json.RawMessage, project string) (json.RawMessage, bool) {
	means = maps.Clone(means)
	named := map[string]string{}
	for argument, meaning := range t.arguments {
		named[meaning] = argument
	}
	if dir := means["dir"]; dir != nil && named["dir"] == "" {
		if text := jsontape.Unquote(dir); text != project && text != "" {
			means["command"] = jsontape.AppendQuoted(nil, "cd "+shellQuoted(text)+" && "+jsontape.Unquote(means["command"]))
		}
		delete(means, "dir")
	}
	t.writeLines(means, named)
	input := map[string]json.RawMessage{}
	for meaning, value := range means {
		argument := named[meaning]
		if argument == "" {
			return nil, false
		}
		input[argument] = value
	}
	return jsontape.EncodePlain(input), true
}

// writeLines has the lines of a read stand as the tool names them.
func (t *tool) writeLines(means map[string]json.RawMessage, named map[string]string) {
	var first, last int
	_ = json.Unmarshal(means["first"], &first) // a missing one is 0
	_ = json.Unmarshal(means["last"], &last)
	if first == 0 && last == 0 {
		return
	}
	first = max(first, 1)
	if named["zero"] != "" && means["first"] != nil {
		delete(means, "first")
		means["zero"], _ = json.Marshal(first - 1)
	}
	if named["range"] != "" {
		end := last
		if end == 0 {
			end = -1
		}
		delete(means, "first")
		delete(means, "last")
		means["range"], _ = json.Marshal([]int{first, end})
	}
	if named["count"] != "" && means["last"] != nil {
		delete(means, "last")
		means["count"], _ = json.Marshal(last - first + 1)
	}
}

// shellQuoted returns a word for a shell.
func shellQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// acceptedName returns the name of a tool with the characters and the length that providers take.
func acceptedName(name string) string {
	if plainID().MatchString(name) {
		return name
	}
	plain := []byte(name[:min(len(name), 64)])
	for i, c := range plain {
		if !slices.Contains([]byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"), c) {
			plain[i] = '_'
		}
	}
	if len(plain) == 0 {
		return "tool"
	}
	return string(plain)
}
