import type { ChangeReport } from '@osm-ts/core'
import type { JSX } from 'preact'

import { causesOf, stagesOf } from '../push-stages.js'
import { Mark, Table, Waiting } from './parts.js'

/** The last changes, from their first event to the last acknowledgement. */
export function PushesView({ pushes }: { readonly pushes: readonly ChangeReport[] | undefined }): JSX.Element {
  if (pushes === undefined) return <Waiting />
  const longest = Math.max(1, ...pushes.map((push) => stagesOf(push).at(-1)?.toMs ?? 0))
  return (
    <>
      <h2>Pushes</h2>
      {pushes.length === 0 && <p class="soft">Nothing has changed since the controller started.</p>}
      {pushes.length > 0 && (
        <Table
          caption={`The last ${pushes.length} changes, the newest first. Bars end at ${longest.toFixed(0)} ms.`}
          columns={['Time', 'Cause', 'Proxies', 'From the event to the last acknowledgement', 'Total']}
        >
          {pushes.map((push) => (
            <PushRow key={`${push.time} ${push.change}`} push={push} longest={longest} />
          ))}
        </Table>
      )}
      <ul class="legend">
        <li>grey: waits for further events</li>
        <li>blue: computes policies</li>
        <li>green: translates, sends, and waits for proxies</li>
      </ul>
    </>
  )
}

function PushRow({ push, longest }: { readonly push: ChangeReport; readonly longest: number }): JSX.Element {
  const stages = stagesOf(push)
  const text = stages.map(({ title, fromMs, toMs }) => `${title} ${(toMs - fromMs).toFixed(1)} ms`).join(', ')
  const { touched, acknowledged, rejected, pending } = push.proxies
  return (
    <tr>
      <td class="code">{push.time.slice(11, 23)}</td>
      <td>
        <Causes names={causesOf(push)} />
      </td>
      <td>
        {acknowledged} of {touched} acknowledged {rejected > 0 && <Mark tone="bad">{rejected} refused</Mark>}{' '}
        {pending > 0 && <Mark tone="warn">{pending} pending</Mark>}
      </td>
      <td>
        <svg class="stages" role="img" aria-label={text} viewBox="0 0 1000 14" preserveAspectRatio="none">
          {stages.map(({ name, fromMs, toMs }) => (
            <rect
              key={name}
              class={name}
              x={(fromMs / longest) * 1000}
              y={1}
              width={Math.max(1, ((toMs - fromMs) / longest) * 1000)}
              height={12}
            />
          ))}
        </svg>
      </td>
      <td class="number code">{(stages.at(-1)?.toMs ?? 0).toFixed(1)} ms</td>
    </tr>
  )
}

const SHOWN_CAUSES = 2

function Causes({ names }: { readonly names: readonly string[] }): JSX.Element {
  if (names.length <= SHOWN_CAUSES) return <>{names.join(', ')}</>
  return (
    <details>
      <summary>
        {names.slice(0, SHOWN_CAUSES).join(', ')} and {names.length - SHOWN_CAUSES} more
      </summary>
      {names.slice(SHOWN_CAUSES).join(', ')}
    </details>
  )
}
