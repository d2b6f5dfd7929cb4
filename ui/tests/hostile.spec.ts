import { expect, test, watch } from './server'

// What people and models may write, and what must stay text.
const PAYLOADS = [
  '<script>attacked()</script>', '<img src=x onerror=attacked()>', '<svg onload=attacked()>', '"><script>attacked()</script>', "'><img src=x onerror=attacked()>",
  '<iframe src="javascript:attacked()"></iframe>', '<a href="javascript:attacked()">x</a>', '<body onload=attacked()>', '<details open ontoggle=attacked()>',
  '<video><source onerror=attacked()></video>', '<math><mi//xlink:href="data:x,<script>attacked()</script>">', '{{constructor.constructor("attacked()")()}}',
  '${attacked()}', '<%= attacked() %>', 'javascript:attacked()', '<object data="javascript:attacked()">', '<embed src="javascript:attacked()">',
  '<form action="javascript:attacked()"><button>x', '<input autofocus onfocus=attacked()>', '<select autofocus onfocus=attacked()>', '<marquee onstart=attacked()>',
  '<style>@import "http://evil.example/x.css";</style>', '<link rel=stylesheet href=http://evil.example/x.css>', '<img src=http://evil.example/x.png>',
  '<meta http-equiv=refresh content="0;url=http://evil.example/">', '<base href=http://evil.example/>', '<svg><script>attacked()</script></svg>',
  '<svg><animate onbegin=attacked() attributeName=x>', '<template><script>attacked()</script></template>', '--><script>attacked()</script>', ']]><script>attacked()</script>',
  '\u202etxt.exe', '\u0000<b>', '<scr\u0000ipt>attacked()</scr\u0000ipt>', '\u001b[31mred\u001b[0m', '<x onclick=attacked()>', '<noscript><p title="</noscript><img src=x onerror=attacked()>">',
  '\ufeff<script>attacked()</script>', '%3Cscript%3Eattacked()%3C/script%3E', '&lt;script&gt;attacked()&lt;/script&gt;',
]

test('forty texts that would like to run are shown as text', async ({ page, server }) => {
  test.setTimeout(180_000)
  const wrong = watch(page, server)
  let attacked = 0
  await page.exposeFunction('attacked', () => (attacked += 1))
  // As prompts, completions, names and metadata. The completions of this data set are what `sft` shows and learns.
  const clean = PAYLOADS.map((text) => text.replaceAll('\u0000', ''))
  const rows = clean.map((text) => JSON.stringify({ prompt: text, answer: text, completion: text, [text.slice(0, 60) || 'x']: text })).join('\n')
  const dataset = await server.ask(`/v1/datasets?name=${encodeURIComponent(clean[1] ?? '')}`, rows)
  const ids: string[] = []
  for (const text of clean.slice(0, 12)) {
    ids.push(await server.job({ name: text.slice(0, 200), metadata: { note: text }, objective: { type: 'bolt', group_size: 2 }, train: { steps: 1, prompts_per_step: 2 }, eval: { every_steps: 0, samples: 1, pass_at: [1], prompts: 4 } }))
  }
  await Promise.all(ids.map((id) => server.wait(id)))
  const own = await server.job({ name: 'own rows', dataset: { train: dataset.id, eval: dataset.id }, verifier: { type: 'exact' }, objective: { type: 'bolt', group_size: 2 }, train: { steps: 1, prompts_per_step: 8 } })
  await server.wait(own)
  await server.ask('/v1/verifiers', { name: clean[0], config: { type: 'exact' } })
  await server.ask('/v1/webhook_endpoints', { url: 'https://1.1.1.1/%3Cscript%3E', enabled: false, description: clean[2] })
  const views = ['/jobs', ...ids.slice(0, 4).map((id) => `/jobs/${id}`), `/jobs/${own}/completions`, `/jobs/${own}/spec`, `/jobs/${own}/events`, `/compare?jobs=${ids[0]},${ids[1]}`, `/data?id=${dataset.id}&version=${dataset.latest.id}`, `/data?id=${dataset.id}&version=${dataset.latest.id}&row=20`, '/verifiers', '/models', '/operate?tab=webhooks', '/operate?tab=audit', '/evaluations', `/jobs?q=${encodeURIComponent('<img src=x onerror=attacked()>')}`, `/playground?prompt=${encodeURIComponent(clean[0] ?? '')}&models=${encodeURIComponent(clean[1] ?? '')}`]
  for (const view of views) {
    await page.goto(server.base + view)
    await expect(page.getByText('Loading …')).toHaveCount(0)
    await page.waitForTimeout(250)
    expect(await page.locator('script:not([src^="/assets/"])').count(), view).toBe(0)
    expect(await page.locator('main iframe, main img, main object, main embed, main base, main meta').count(), view).toBe(0)
  }
  expect(attacked).toBe(0)
  expect(wrong).toEqual([])
})

test('a completion of a megabyte is shown in part', async ({ page, server }) => {
  const wrong = watch(page, server)
  const rows = JSON.stringify({ prompt: 'a'.repeat(1_000_000), answer: 'b' })
  const dataset = await server.ask('/v1/datasets?name=large', rows)
  await page.goto(`${server.base}/data?id=${dataset.id}`)
  await expect(page.getByRole('cell', { name: /^a{100}/ })).toBeVisible()
  expect(wrong).toEqual([])
})
