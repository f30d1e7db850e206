import type { Problem } from '@osm-ts/core'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

import type { WhatIfAnswer } from '../api.js'
import { ask, type Asked } from '../ask.js'
import { Mark, objectText, placeText, Table } from './parts.js'

/** What a change would do, before it is applied. */
export function WhatIf(): JSX.Element {
  const [yaml, setYaml] = useState('')
  const [removed, setRemoved] = useState('')
  const [asked, setAsked] = useState<Asked<WhatIfAnswer>>()
  const [isAsking, setAsking] = useState(false)
  return (
    <section class="sheet" aria-label="What would a change do?">
      <h3>What would a change do?</h3>
      <p class="soft">Nothing is applied. The answer is that of osm diff.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setAsking(true)
          const remove = removed
            .split('\n')
            .map((line) => line.trim())
            .filter((line) => line !== '')
          void ask<WhatIfAnswer>('what-if', { yaml, remove }).then((answer) => {
            setAsked(answer)
            setAsking(false)
          })
        }}
      >
        <div class="bar">
          <label>
            Objects to apply, as YAML
            <textarea
              rows={10}
              cols={70}
              spellcheck={false}
              value={yaml}
              onInput={({ currentTarget }) => setYaml(currentTarget.value)}
            />
          </label>
          <label>
            Objects to delete, one a line
            <textarea
              rows={10}
              cols={36}
              spellcheck={false}
              placeholder="TrafficTarget/namespace/name"
              value={removed}
              onInput={({ currentTarget }) => setRemoved(currentTarget.value)}
            />
          </label>
        </div>
        <button class="ask" type="submit" disabled={isAsking || (yaml.trim() === '' && removed.trim() === '')}>
          Compare
        </button>
      </form>
      <div role="status">
        {asked?.state === 'refused' && <p class="bad">{asked.reason}</p>}
        {asked?.state === 'answered' && <Radius radius={asked.answer} />}
      </div>
    </section>
  )
}

function Radius({ radius: { access, routes, proxies, findings } }: { readonly radius: WhatIfAnswer }): JSX.Element {
  const rows = [
    ...access.lost.map((one) => ({ ...one, isGained: false })),
    ...access.gained.map((one) => ({ ...one, isGained: true })),
  ]
  return (
    <>
      <p>
        {access.gained.length} gained, {access.lost.length} lost, {routes.length} routes changed;{' '}
        {proxies.changed.length} of {proxies.total} proxies get another configuration.
      </p>
      {rows.length > 0 && (
        <Table caption="Access" columns={['Now', 'Caller', 'Destination', 'Request']}>
          {rows.map(({ isGained, caller, destination, request }) => (
            <tr key={`${caller} ${destination} ${request}`}>
              <td>
                <Mark tone={isGained ? 'good' : 'bad'}>{isGained ? 'allowed' : 'denied'}</Mark>
              </td>
              <td>{caller}</td>
              <td>{destination}</td>
              <td>{request}</td>
            </tr>
          ))}
        </Table>
      )}
      {routes.length > 0 && (
        <Table caption="Routes" columns={['Caller', 'Destination', 'Request', 'Before', 'After']}>
          {routes.map(({ caller, destination, request, before = '–', after = '–' }) => (
            <tr key={`${caller} ${destination} ${request}`}>
              <td>{caller}</td>
              <td>{destination}</td>
              <td>{request}</td>
              <td>{before}</td>
              <td>{after}</td>
            </tr>
          ))}
        </Table>
      )}
      <Findings caption="New findings" problems={findings.new} />
      <Findings caption="Resolved findings" problems={findings.resolved} />
    </>
  )
}

function Findings({
  caption,
  problems,
}: {
  readonly caption: string
  readonly problems: readonly Problem[]
}): JSX.Element | null {
  if (problems.length === 0) return null
  return (
    <Table caption={caption} columns={['Severity', 'Object', 'Finding', 'Code']}>
      {problems.map(({ severity, object, field, origin, message, code }, at) => (
        <tr key={at}>
          <td>
            <Mark tone={severity === 'error' ? 'bad' : 'warn'}>{severity}</Mark>
          </td>
          <td>
            {objectText(object, field)} <div class="soft code">{placeText(origin)}</div>
          </td>
          <td>{message}</td>
          <td>
            <code>{code}</code>
          </td>
        </tr>
      ))}
    </Table>
  )
}
