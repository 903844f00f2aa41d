package kinds

// Described are the kinds that lie in files or tables, for tests that look below the port.
var Described = described
