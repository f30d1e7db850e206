import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

import type { Topology, WhyAnswer, WhyQuestion } from '../api.js'
import { ask, type Asked } from '../ask.js'
import type { LiveMesh } from '../live-mesh.js'
import { WhatIf } from './what-if.js'
import { Mark } from './parts.js'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Two questions: may this caller make this request, and what would a change do. */
export function WhyView({ live: { topology } }: { readonly live: LiveMesh }): JSX.Element {
  return (
    <>
      <h2>Why</h2>
      <RequestQuestion topology={topology} />
      <WhatIf />
    </>
  )
}

function RequestQuestion({ topology }: { readonly topology: Topology | undefined }): JSX.Element {
  const [question, setQuestion] = useState<WhyQuestion>({ from: '', to: '', method: 'GET', path: '/', headers: '' })
  const [asked, setAsked] = useState<Asked<WhyAnswer>>()
  const change = (part: Partial<WhyQuestion>): void => setQuestion((before) => ({ ...before, ...part }))
  const names = (kind: 'workload' | 'service'): readonly string[] =>
    (topology?.nodes ?? []).filter((node) => node.kind === kind).map(({ namespace, name }) => `${namespace}/${name}`)
  return (
    <section class="sheet" aria-label="May a request be made?">
      <h3>May a request be made?</h3>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void ask<WhyAnswer>('why', question).then(setAsked)
        }}
      >
        <div class="bar">
          <Name label="From" value={question.from} names={names('workload')} onChange={(from) => change({ from })} />
          <Name label="To" value={question.to} names={names('service')} onChange={(to) => change({ to })} />
          <label>
            Method
            <select value={question.method} onChange={({ currentTarget }) => change({ method: currentTarget.value })}>
              {methods.map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
          </label>
          <label>
            Path
            <input value={question.path} onInput={({ currentTarget }) => change({ path: currentTarget.value })} />
          </label>
          <label>
            Headers, one a line
            <textarea
              rows={1}
              value={question.headers}
              onInput={({ currentTarget }) => change({ headers: currentTarget.value })}
            />
          </label>
          <button class="ask" type="submit">
            Ask
          </button>
        </div>
      </form>
      <div role="status">
        {asked?.state === 'refused' && <p class="bad">{asked.reason}</p>}
        {asked?.state === 'answered' && (
          <>
            <p>
              <Mark tone={asked.answer.allowed ? 'good' : 'bad'}>{asked.answer.lines[0]}</Mark>
            </p>
            <pre>{asked.answer.lines.slice(1).join('\n')}</pre>
          </>
        )}
      </div>
    </section>
  )
}

interface NameProps {
  readonly label: string
  readonly value: string
  readonly names: readonly string[]
  readonly onChange: (value: string) => void
}

/** A name that may be chosen or written. */
function Name({ label, value, names, onChange }: NameProps): JSX.Element {
  const list = `names-${label}`
  return (
    <label>
      {label}
      <input
        required
        list={list}
        value={value}
        placeholder="namespace/name"
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <datalist id={list}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  )
}
