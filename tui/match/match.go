// Package match says whether a text holds what a person searches for, for all tabs. (In the making by the engineer of the
// tabs: do not write this package, use it.)
package match
