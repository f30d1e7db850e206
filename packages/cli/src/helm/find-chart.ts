import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'

/**
 * The chart: the folder or archive that was named, else the one that is shipped with osm, which lies elsewhere in a checkout.
 *
 * @throws OsmError when there is none
 */
export function findChart(
  { cwd, programFolder }: Pick<CliContext, 'cwd' | 'programFolder'>,
  named: string | undefined,
): string {
  const candidates =
    named === undefined
      ? [join(programFolder, 'chart'), resolve(programFolder, '../../../charts/osm')]
      : [resolve(cwd, named)]
  const found = candidates.find(
    (path) => existsSync(path) && (path.endsWith('.tgz') || existsSync(join(path, 'Chart.yaml'))),
  )
  if (found !== undefined) return found
  throw cliError(
    'OSM_CLI_CHART',
    named === undefined ? `the chart is neither at ${candidates.join(' nor at ')}` : `${named} is not a chart`,
    named === undefined
      ? 'set it with --osm-chart-path; in a checkout, run npm run build'
      : '--osm-chart-path takes a folder with a Chart.yaml, or an archive created by helm package',
  )
}
