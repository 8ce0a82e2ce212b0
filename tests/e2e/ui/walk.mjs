// Opens pages in Chromium and reports what it saw as JSON lines; see test_browser.py.
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(process.env.PLAYWRIGHT)("playwright-core");
const task = JSON.parse(process.argv[2]);
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } };
const say = (line) => console.log(JSON.stringify(line));

async function opened(browser, size, scheme) {
  const context = await browser.newContext({ viewport: SIZES[size], colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(120000);
  const seen = { dialogs: [], foreign: [], errors: [] };
  page.on("dialog", (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
  page.on("request", (request) => { if (!request.url().startsWith(task.base)) seen.foreign.push(request.url()); });
  page.on("console", (message) => { if (message.type() === "error") seen.errors.push(message.text()); });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  return { context, page, seen };
}

async function picture(page, name) {
  if (!task.pictures) return;
  mkdirSync(task.pictures, { recursive: true });
  await page.screenshot({ path: join(task.pictures, `${name}.png`), fullPage: Boolean(task.full) });
}

async function look(browser, size, scheme) {
  const { context, page, seen } = await opened(browser, size, scheme);
  for (const { name, path, until } of task.pages) {
    const reply = await page.goto(task.base + path, { waitUntil: "load" });
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
    const facts = await page.evaluate(() => ({
      title: document.title,
      heading: document.querySelector("h1")?.textContent ?? "",
      overflow: document.documentElement.scrollWidth - window.innerWidth,
      paint_ms: performance.getEntriesByName("first-contentful-paint")[0].startTime,
      background: getComputedStyle(document.body).backgroundColor,
      hacked: window.hacked ?? null,
    }));
    if (until) await page.locator(until).waitFor();
    facts.text = until ? await page.locator(until).innerText() : "";
    await picture(page, `${name}-${size}-${scheme}`);
    say({ kind: "page", name, size, scheme, status: reply.status(), ...facts, ...structuredClone(seen) });
    seen.dialogs.length = seen.foreign.length = seen.errors.length = 0;
  }
  await context.close();
}

async function walk(browser) {
  const { context, page, seen } = await opened(browser, "desktop", "light");
  const step = async (name, value) => say({ kind: "step", name, value });
  const focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("href"));
  const arrive = (part) => page.waitForURL((url) => url.href.includes(part));

  await page.goto(task.base + task.list);
  await page.keyboard.press("j");
  const first = await focus();
  await page.keyboard.press("j");
  const second = await focus();
  await step("j moves to the next row", first !== second && second.includes("/one?"));
  await page.keyboard.press("k");
  await step("k moves back", (await focus()) === first);
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("c");
  await arrive("/compare/episodes");
  await step("x marks and c compares", (await page.textContent("h1")).includes("Two episodes"));
  await page.goBack();
  await page.keyboard.press("j");
  await page.keyboard.press("o");
  await arrive("/one?");
  await step("o opens the reader", await page.locator("[data-turn]").count() > 1);
  await page.keyboard.press("ArrowRight");
  const turn = await focus();
  await page.keyboard.press("ArrowRight");
  await step("the right arrow moves to the next turn", turn === "turn-0" && (await focus()) === "turn-1");
  await page.keyboard.press("ArrowLeft");
  await step("the left arrow moves back", (await focus()) === "turn-0");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("t");
  const tip = await page.evaluate(() => getComputedStyle(document.activeElement, "::after").content);
  await step("t shows the tokens, and a focused token tells its probability", tip.includes("probability"));
  await picture(page, "tokens-desktop-light");
  const here = page.url();
  await page.keyboard.press("j");
  await page.waitForURL((url) => url.href !== here && url.href.includes("/one?"));
  await step("j opens the next episode", true);
  await page.keyboard.press("u");
  await page.waitForURL((url) => !url.href.includes("/one?"));
  await page.keyboard.press("/");
  await step("/ focuses the search", (await focus()) === "search");
  await page.keyboard.type(task.search);
  await page.keyboard.press("Enter");
  await arrive(`q=${task.search}`);
  await step("a search lists what it found", await page.locator("tbody tr").count());
  await page.keyboard.press("?");
  await step("? opens the help", await page.locator("#help[open]").count() === 1);
  await picture(page, "help-desktop-light");
  await page.keyboard.press("?");
  await step("? closes the help", await page.locator("#help[open]").count() === 0);
  say({ kind: "walk", ...seen });
  await context.close();
}

async function watch(browser) {
  const { context, page } = await opened(browser, "desktop", "light");
  await page.goto(task.base + "/");
  await page.locator(task.live.selector).filter({ hasText: task.live.before }).first().waitFor();
  say({ kind: "watching" });
  await page.locator(task.live.selector).filter({ hasText: task.live.after }).first().waitFor();
  say({ kind: "watched" });
  await context.close();
}

async function plain(browser) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: SIZES.phone });
  const page = await context.newPage();
  await page.goto(task.base + task.list);
  await page.locator("[data-open]").first().click();
  await page.waitForURL((url) => url.href.includes("/one?"));
  say({ kind: "plain", heading: await page.textContent("h1") });
  await context.close();
}

async function playing(browser, { name, javaScriptEnabled, size, scheme }) {
  // an episode of the playground, by clicks; with scripts, every other action by its number
  const { env, option, value, id, player, actions } = task.play;
  const context = await browser.newContext({ javaScriptEnabled, viewport: SIZES[size], colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(240000);
  const errors = [];
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  const overflow = async () => (javaScriptEnabled
    ? page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth) : 0);
  const overflows = [];
  const shot = async (what) => { overflows.push(await overflow()); await picture(page, `play-${what}-${size}-${scheme}`); };
  await page.goto(`${task.base}/`);
  await page.getByRole("link", { name: "play", exact: true }).click();
  await shot("environments");
  await page.getByRole("button", { name: env, exact: true }).click();
  await page.locator("#search").waitFor();
  await page.getByText(`Options of ${env}`, { exact: true }).click();
  await page.getByLabel(option, { exact: true }).selectOption(value);
  await shot("options");
  await page.getByRole("button", { name: `Start ${env} with these options` }).click();
  await page.getByText(`${option}: ${value}`, { exact: true }).waitFor();
  await page.locator("#search").waitFor();
  await page.locator("#search").fill(id);
  await page.getByRole("button", { name: "Find" }).click();
  await page.waitForURL((url) => url.href.includes("q="));
  await page.locator("[name=name]").fill(player);
  await shot("tasks");
  await page.getByRole("button", { name: `Play ${id}`, exact: true }).click();
  for (const [place, action] of actions.entries()) {
    await page.getByRole("heading", { name: `Your action in turn ${place + 1}`, exact: true }).waitFor();
    if (place === 1) await shot("turn");
    const texts = await page.locator(".admissible button").allTextContents();
    const number = texts.indexOf(action);
    if (javaScriptEnabled && place % 3 === 1) {
      await page.locator("#search").fill("");
      await page.keyboard.type(String(number + 1));
      await page.keyboard.press("Enter");
    } else if (javaScriptEnabled && place % 3 === 2) {
      await page.locator("#search").fill(action);
      await page.keyboard.press("Enter");
    } else {
      await page.locator(".admissible button").nth(number).click();
    }
  }
  await page.locator(".end").waitFor();
  await shot("over");
  const verdict = await page.textContent(".end");
  await page.getByRole("link", { name: "Read the episode" }).click();
  await page.waitForURL((url) => url.href.includes("/one?"));
  say({ kind: "played", name, verdict, reader: await page.textContent("h1"), overflows, errors });
  await context.close();
}

const browser = await chromium.launch({ executablePath: task.chromium, args: FLAGS });
try {
  for (const size of Object.keys(SIZES)) {
    for (const scheme of ["light", "dark"]) if (task.pages.length) await look(browser, size, scheme);
  }
  if (task.search) await walk(browser);
  if (task.plain) await plain(browser);
  if (task.live) await watch(browser);
  for (const how of task.play?.ways ?? []) await playing(browser, how);
} finally {
  await browser.close();
}
