package conversation

// The names that the tools of agents have for their arguments, the commonest first. Sources: as for the table of tools.
var (
	// CommandNames name the command that a tool runs.
	CommandNames = []string{"command", "cmd", "script"}
	// PathNames name the file that a tool is about.
	PathNames = []string{"file_path", "filePath", "absolute_path", "notebook_path", "path", "target_file", "filename", "paths", "relative_path", "targetFile", "relativeWorkspacePath"}
	// OldNames name the text that an edit replaces, and NewNames the text in its place.
	OldNames = []string{"old_string", "oldString", "old_str", "oldText", "old_text", "old"}
	NewNames = []string{"new_string", "newString", "new_str", "newText", "new_text", "new"}
)
