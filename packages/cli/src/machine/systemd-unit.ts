/** What a unit starts. */
export interface SystemdUnitOptions {
  /** Absolute path of Node.js, and of osm. */
  readonly program: readonly [string, string]
  readonly args: readonly string[]
  /** Absolute paths of sidecars by variable, such as `ENVOY_BIN`. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * A unit that keeps a machine in the mesh. It holds no token: the machine has joined before, or reads one from a file that is named.
 */
export function systemdUnit({ program, args, environment }: SystemdUnitOptions): string {
  const command = [...program, ...args].map(quote).join(' ')
  const variables = Object.entries(environment).map(([name, value]) => `Environment=${quote(`${name}=${value}`)}`)
  return [
    '[Unit]',
    'Description=Sidecar of this machine in the service mesh',
    'Wants=network-online.target',
    'After=network-online.target',
    '',
    '[Service]',
    'Type=exec',
    ...variables,
    `ExecStart=${command}`,
    'KillMode=mixed',
    'TimeoutStopSec=30',
    'Restart=on-failure',
    'RestartSec=2',
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n')
}

/** Quotes as systemd reads it: `%` begins a specifier and `$` a variable. */
function quote(text: string): string {
  const escaped = text.replaceAll('%', '%%').replaceAll('$', '$$$$')
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`
}
