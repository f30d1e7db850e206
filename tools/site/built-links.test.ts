import { describe, expect, it } from '@jest/globals'
import { builtLinkFaults } from './built-links.mjs'

const site = (html: string, base = '/') =>
  builtLinkFaults(
    new Map([
      ['docs/a.html', html],
      ['docs/b.html', '<h2 id="one&amp;two">'],
      ['docs/index.html', ''],
    ]),
    new Set(['docs/a.html', 'docs/b.html', 'docs/index.html', 'x.svg']),
    base,
  )

describe('builtLinkFaults', () => {
  it.each([
    ['a page', '<a class="x" href="./b.html">'],
    ['an index page', '<a href="/docs/">'],
    ['an element', '<a href="/docs/b.html#one%26two">'],
    ['a picture', '<img src="../x.svg">'],
    ['a page of another host', '<a href="https://example.org/missing">'],
    ['a query of the page itself', '<a href="?x#">'],
  ])('accepts a link to %s', (_, html) => {
    expect(site(html)).toEqual([])
  })

  it('names the page, the link and what is missing', () => {
    expect(site('<a href="c.html">')).toEqual(['docs/a.html: c.html: there is no docs/c.html'])
    expect(site('<a href="b.html#three">')).toEqual(['docs/a.html: b.html#three: docs/b.html has no element #three'])
    expect(site('<a href="#here">')).toEqual(['docs/a.html: #here: docs/a.html has no element #here'])
  })

  it('refuses a link outside of the path of the site', () => {
    expect(site('<a href="/docs/">', '/mesh/')).toEqual(['docs/a.html: /docs/: outside of /mesh/'])
    expect(site('<a href="/mesh/docs/">', '/mesh/')).toEqual([])
  })

  it.each(['<script src="https://cdn.example/x.js">', '<img src="//cdn.example/x.png">'])(
    'refuses to load %s',
    (html) => {
      expect(site(html)).toEqual([expect.stringContaining('loads from another host')])
    },
  )
})
