package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// agentTopics are `hindcast help agents`, and `hindcast help llms`, which prints the file llms.txt.
func agentTopics() []*cobra.Command {
	skill := &cobra.Command{Use: "agents", Short: "print what an agent needs to know of the commands"}
	skill.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeSkill(cmd.OutOrStdout(), cmd.Root()) })
	index := &cobra.Command{Use: "llms", Short: "print the commands, a line for each", Hidden: true}
	index.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeIndex(cmd.OutOrStdout(), cmd.Root()) })
	return []*cobra.Command{skill, index}
}

// skillHead is the head of a skill: its name, and when an agent needs it.
const skillHead = `---
name: hindcast
description: Look into the sessions that coding agents and agent frameworks recorded on this machine, with their abandoned branches - search what was said, see what the model was sent, what changed in files and state, what it cost, and plan a restore, a fork or a continuation in another tool.
---

# Hindcast

`

// skillRules hold for every command.
const skillRules = `Every command takes --json and prints one document; hindcast schema COMMAND prints its JSON
Schema. Without a terminal nothing asks and nothing is paged: what writes needs --yes, and
--dry-run prints the plan and writes nothing. Show a person the plan before --yes. Exit codes:
0 done, 1 failed or nothing found, 2 wrong usage, 3 the doctor found faults or a check failed.
hindcast COMMAND --help says more. hindcast mcp answers the same questions over the Model
Context Protocol.

`

// writeSkill writes the Markdown of a skill for agents: how the words of a command line are read, and each command of root
// with its examples.
func writeSkill(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, skillHead, root.Long, "\n\n", skillRules)
	writeCommands(w, root, func(c *cobra.Command) {
		fmt.Fprintf(w, "### hindcast %s\n\n%s.\n\n", c.Use, strings.ToUpper(c.Short[:1])+c.Short[1:])
		if c.Example != "" {
			fmt.Fprintf(w, "```sh\n%s\n```\n\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
		}
	})
}

// writeIndex writes llms.txt: one line for each command of root.
func writeIndex(w io.Writer, root *cobra.Command) {
	first, _, _ := strings.Cut(root.Long, "\n\n")
	fmt.Fprintf(w, "# Hindcast\n\n> %s\n\n[SKILL.md](SKILL.md) says how the command line is used, as does `hindcast help agents`.\n\n", strings.ReplaceAll(first, "\n", " "))
	writeCommands(w, root, func(c *cobra.Command) { fmt.Fprintf(w, "- `hindcast %s`: %s\n", c.Use, c.Short) })
}

// writeCommands writes the commands of root group by group.
func writeCommands(w io.Writer, root *cobra.Command, write func(*cobra.Command)) {
	for i, g := range root.Groups() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "## %s\n\n", g.Title)
		for _, c := range root.Commands() {
			if c.GroupID == g.ID {
				write(c)
			}
		}
	}
}
