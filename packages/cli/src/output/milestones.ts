import { Listr, ListrLogger, ProcessOutput, type ListrDefaultRendererLogLevels } from 'listr2'

import { formatSeconds } from './format.js'

/** Something that takes a while. */
export interface Milestone {
  readonly title: string
  /** Resolves, perhaps with a remark, when it is reached. */
  readonly reached: Promise<string | undefined>
}

/**
 * Shows how a start or an end gets on: as a list that is kept up to date on a terminal, else as a line for each milestone. Resolves when all are
 * reached or have failed; it never rejects, because the creator of the promises handles their errors.
 */
export async function showMilestones(milestones: readonly Milestone[], stream: NodeJS.WriteStream): Promise<void> {
  const started = performance.now()
  const seconds = (): string => formatSeconds(performance.now() - started)
  if (stream.isTTY) return showList(milestones, stream, seconds)
  await Promise.all(
    milestones.map(async ({ title, reached }) => {
      const outcome = await reached.then(
        (remark) => `${title}: done in ${seconds()}${remark === undefined ? '' : `, ${remark}`}`,
        () => `${title}: failed after ${seconds()}`,
      )
      stream.write(`osm: ${outcome}\n`)
    }),
  )
}

async function showList(
  milestones: readonly Milestone[],
  stream: NodeJS.WriteStream,
  seconds: () => string,
): Promise<void> {
  const logger = new ListrLogger<ListrDefaultRendererLogLevels>({ processOutput: new ProcessOutput(stream, stream) })
  const tasks = new Listr(
    milestones.map(({ title, reached }) => ({
      title,
      task: async (_context: unknown, task: { title: string }) => {
        const remark = await reached
        task.title = `${title} (${[seconds(), remark].filter(Boolean).join(', ')})`
      },
    })),
    {
      concurrent: true,
      exitOnError: false,
      // Ctrl-C is the program's to answer: it has processes to end.
      registerSignalListeners: false,
      rendererOptions: { logger, collapseErrors: true, showErrorMessage: false },
    },
  )
  await tasks.run().catch(() => undefined)
}
