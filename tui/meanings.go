package tui

import (
	"slices"

	"hindcast/keymap"
	"hindcast/tui/sheet"
)

// whatCanBeTyped heads the help of a field, which opens with a key of the help until something is typed.
const whatCanBeTyped = "What can be typed"

// meaning returns the line that explains a word or an example.
func meaning(word, text string) sheet.Paragraph {
	return sheet.Paragraph{Label: word, LabelPick: sheet.Key, Text: text}
}

// The meanings of the texts that can be typed into each field.
var (
	searchMeanings = []sheet.Paragraph{
		meaning("text", "all its words in titles; in texts the text as it is, letters of either case unless one is a capital"),
		meaning("project:api", "sessions whose project has api in its path"),
		meaning("tool:codex", "sessions of an agent; tool:Bash, what is called and answered by a tool"),
		meaning("since:7d", "sessions that changed since today, yesterday, 12h, 7d, 2w, 2026-11-01"),
		meaning("role:user", "what the user said; or assistant, tool, system"),
		meaning("file:a.go", "instead of texts, the steps that changed a file"),
		meaning("failed", "results of tool calls that failed"),
		meaning("left", "what is off the path: said on branches that were left"),
		meaning(`"left"`, "in quotes a word is text"),
	}
	expressionMeanings = []sheet.Paragraph{
		meaning(".cart.total > 100", "an expression of jq on the state of each snapshot; neither false nor null is true"),
		meaning(".messages | length", "its values can be any: the expression decides"),
		meaning("any(.items[]; .id == 7)", "whether one of a list is so"),
	}
	pathMeanings = []sheet.Paragraph{
		meaning("/cart/total", "a path: the keys of a value, from the top of the state"),
		meaning(".cart.total", "the same path as jq has it"),
		meaning("/items/0", "an element of a list by its number, from 0"),
	}
	watchMeanings = append([]sheet.Paragraph{
		meaning("no text", "one watch less; the text of a watch takes that one away"),
	}, append(pathMeanings, expressionMeanings[1:]...)...)
	labelMeanings = []sheet.Paragraph{
		meaning("name", "letters, digits and - _ . + /, beginning with a letter or a digit: it means the snapshot wherever one is named"),
		meaning("name a note", "all behind the first blank is the note"),
		meaning("no text", "takes the label away"),
	}
	sessionMeanings = []sheet.Paragraph{
		meaning("a name", "one that no session of the store has; the store says which characters it takes"),
	}
	runMeanings = []sheet.Paragraph{
		meaning("a text", "what the agent gets as its next input"),
		meaning("no text", "the agent goes on without one"),
	}
	shareMeanings = []sheet.Paragraph{
		meaning("name.html", "a page for a browser"),
		meaning("name.jsonl", "a file that hindcast import reads"),
		meaning("~/name.html", "below your home; else below the current directory"),
	}
)

// explainWords returns the lines of the help of the search field.
func (m *Model) explainWords() []sheet.Paragraph {
	key := func(a keymap.Action) string { return keymap.Label(m.keys.Keys(keymap.Input, a)) }
	return append(slices.Clip(searchMeanings),
		sheet.Paragraph{Label: key(keymap.Regexp), LabelPick: sheet.Key, Text: "take the text as a regular expression, or no longer"},
		sheet.Paragraph{Label: key(keymap.Widen), LabelPick: sheet.Key, Text: "the next scope; " + key(keymap.Narrow) + " the one before"},
		sheet.Paragraph{Label: key(keymap.Accept), LabelPick: sheet.Key, Text: "open the session at the hit; " + key(keymap.Back) + " comes back"},
	)
}
