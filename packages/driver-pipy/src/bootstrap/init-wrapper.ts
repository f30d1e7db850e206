/**
 * Shell script that a container of Pipy starts with: the first process, which runs Pipy as its child.
 *
 * A first process gets no signal that it has no handler for, and Pipy has none for SIGTERM. Besides, it may hang when it ends, and what it has under way only
 * its scripts know. So:
 *
 * - SIGTERM opens file 9 of the shell, which `end.js` of the codebase looks for in `/proc`: a sign that needs no program, no port and no writable folder;
 * - SIGUSR1 is the answer, when nothing is under way: Pipy is ended by force, and the container with success;
 * - a Pipy that ends by itself ends the container with its own exit code, so that it is started again.
 *
 * Builtins of a POSIX shell only. It holds nothing of a user's.
 */
const SCRIPT = `trap 'exec 9</dev/null' TERM
trap 'kill -KILL $pipy; exit 0' USR1
OSM_PIPY_INIT_WRAPPER=$$ "$@" & pipy=$!
while wait $pipy; code=$?; kill -0 $pipy 2>/dev/null; do :; done
exit $code`

/** What is in front of the command line of Pipy in a container. */
export const initWrapper: readonly string[] = ['/bin/sh', '-c', SCRIPT, 'init-wrapper']
