/** Folders by the paths at which a container is to find them. */
export type Mounts = ReadonlyMap<string, string>

/** Where new folders may appear without a trace on the host: in memory, or in an overlay. */
const mountable = /^\/(?:var\/run|run|etc)\//

/** Programs of the host lie in it too, and everybody may write there already. */
const SCRATCH = '/tmp'

/**
 * Words to put before a command that runs, as root, in a network namespace by `ip netns exec`: that gives it a mount namespace besides, in
 * which these folders then appear. Whatever is mounted goes with the process.
 */
export function mounting(mounts: Mounts, namespace: string): readonly string[] {
  const wanted = [...mounts].filter(([path]) => path !== SCRATCH)
  const wrong = wanted.map(([path]) => path).find((path) => !mountable.test(`${path}/`))
  if (wrong !== undefined) throw new Error(`the stand-in mounts below /etc and /run, not at ${wrong}`)
  if (wanted.length === 0) return []
  // The longest last: one may lie within another.
  const ordered = wanted.sort(([a], [b]) => a.length - b.length)
  const script = `set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/upper /run/work /run/netns-files
mount --bind /etc/netns/${namespace} /run/netns-files
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/upper,workdir=/run/work /etc
for file in hosts resolv.conf nsswitch.conf; do mount --bind /run/netns-files/$file /etc/$file; done
count=$1; shift
while [ "$count" -gt 0 ]; do
  mkdir -p "$1"; mount --bind "$2" "$1"
  shift 2; count=$((count - 1))
done
exec "$@"`
  return ['sh', '-c', script, 'mounting', String(ordered.length), ...ordered.flat()]
}
