/** What the exit codes of every command mean. */
export const exitCodes = {
  /** It did what was asked, and what it was asked about is in order. */
  ok: 0,
  /** It did what was asked, and found a problem; or it could not do it. */
  problem: 1,
  /** The command line is wrong; nothing was done. */
  usage: 2,
} as const

/** A value of {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
