/** What a command knows of the process that it runs in. */
export interface CliContext {
  /** Input of the user; opened when it is needed. */
  readonly stdin: () => NodeJS.ReadStream
  /** For results: what was asked for, and nothing else. */
  readonly stdout: NodeJS.WriteStream
  /** For progress, warnings and errors. */
  readonly stderr: NodeJS.WriteStream
  readonly cwd: string
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Aborts when the user wants the command to end. */
  readonly signal: AbortSignal
  /** Folder of the running program, beside which others are found. */
  readonly programFolder: string
  /** The Node.js that runs this program. */
  readonly nodeProgram: string
  readonly version: string
}

/** True if colours are welcome there: NO_COLOR and FORCE_COLOR decide, else whether it is a terminal. */
export function wantsColor(stream: { readonly isTTY?: boolean }, variables: CliContext['variables']): boolean {
  if (variables['NO_COLOR']) return false
  if (variables['FORCE_COLOR'] !== undefined) return !['', '0', 'false'].includes(variables['FORCE_COLOR'])
  return stream.isTTY === true && variables['TERM'] !== 'dumb'
}
