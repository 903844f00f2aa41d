package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// manCommand is `hindcast man`.
func (a *App) manCommand() *cobra.Command {
	man := &cobra.Command{
		Use:     "man [COMMAND]",
		Short:   "print the page of the manual about a command, or about all",
		Example: "  hindcast man log > hindcast-log.1\n  hindcast man | man -l -",
		Args:    argsBetween(0, 1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range cmd.Root().Commands() {
				if c.GroupID != "" && len(args) == 0 {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	man.RunE = a.runAnswer(func(_ context.Context, p *printer, args []string) error {
		about := man.Root()
		for _, c := range about.Commands() {
			if len(args) > 0 && c.Name() == args[0] && c.GroupID != "" {
				about = c
			}
		}
		if len(args) > 0 && about == man.Root() {
			return usagef("there is no command %.40q: hindcast --help lists them", args[0])
		}
		var page strings.Builder
		writeManual(&page, about, a.Version)
		if p.json {
			return p.writeDocument(map[string]string{"page": page.String()})
		}
		_, err := p.WriteString(page.String())
		return err
	})
	return man
}

// manualWidth is the width of the options in cells: it fits a terminal of 80.
const manualWidth = 72

// writeManual writes the page about a command in the macros of man(7). Each text is that of its help.
func writeManual(w io.Writer, c *cobra.Command, version string) {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	c.InitDefaultHelpFlag()
	fmt.Fprintf(w, ".TH %s 1 \"\" \"Hindcast %s\" \"Hindcast\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(name)), roff(version), roff(name), roff(c.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	long := c.Long
	if long == "" {
		long = strings.ToUpper(c.Short[:1]) + c.Short[1:] + "."
	}
	fmt.Fprintln(w, ".SH DESCRIPTION")
	writeRoff(w, long)
	if !c.HasParent() {
		for _, g := range c.Groups() {
			fmt.Fprintf(w, ".SH COMMANDS: %s\n", strings.ToUpper(roff(g.Title)))
			for _, sub := range c.Commands() {
				if sub.GroupID == g.ID {
					fmt.Fprintf(w, ".TP\n.BR %s\\-%s (1)\n%s\n", roff(name), roff(sub.Name()), roff(sub.Short))
				}
			}
		}
	}
	for _, list := range []struct{ title, text string }{
		{"OPTIONS", c.LocalFlags().FlagUsagesWrapped(manualWidth)},
		{"OPTIONS OF ALL COMMANDS", c.InheritedFlags().FlagUsagesWrapped(manualWidth)},
		{"EXAMPLES", c.Example},
	} {
		if list.text != "" {
			fmt.Fprintf(w, ".SH %s\n", list.title)
			writeVerbatim(w, list.text)
		}
	}
	fmt.Fprint(w, ".SH EXIT STATUS\n0 done, 1 failed, refused or not found, 2 wrong usage, 3 the doctor found faults or a check failed.\n")
	if c.HasParent() {
		fmt.Fprintf(w, ".SH SEE ALSO\n.BR %s (1)\n", roff(c.Root().Name()))
	}
}

// writeRoff writes paragraphs. It keeps the lines of a paragraph with an indented line.
func writeRoff(w io.Writer, text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			fmt.Fprintln(w, ".PP")
		}
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			writeVerbatim(w, paragraph)
			continue
		}
		lines := bufio.NewScanner(strings.NewReader(paragraph))
		for lines.Scan() {
			fmt.Fprintln(w, roff(lines.Text()))
		}
	}
}

// writeVerbatim writes lines that are not filled.
func writeVerbatim(w io.Writer, text string) {
	fmt.Fprintln(w, ".nf")
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		fmt.Fprintln(w, roff(strings.TrimSuffix(line, "\n")))
	}
	fmt.Fprintln(w, ".fi")
}

// roff escapes a line: backslashes, hyphens, quotes, and a request at its start.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\"", `\(dq`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
