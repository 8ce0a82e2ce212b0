// A person rates, corrects and prefers in Chromium, by clicks and keys; see test_feedback.py.
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(process.env.PLAYWRIGHT)("playwright-core");
const task = JSON.parse(process.argv[2]);
const FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"];
const say = (name, value) => console.log(JSON.stringify({ name, value }));
const browser = await chromium.launch({ executablePath: task.chromium, args: FLAGS });

async function opened(width, scheme, scripts = true) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, javaScriptEnabled: scripts });
  const page = await context.newPage();
  page.setDefaultTimeout(120000);
  page.on("pageerror", (error) => say("error", String(error)));
  page.on("console", (message) => { if (message.type() === "error") say("error", message.text()); });
  return page;
}

async function picture(page, name) {
  if (task.pictures) await page.screenshot({ path: join(task.pictures, `${name}.png`), fullPage: true });
}

const saved = (page) => page.locator(".saved").textContent();

async function act(page, press, before = page.url()) {
  await press();
  await page.waitForURL((url) => url.href !== before && url.href.includes("saved="));
}

try {
  const page = await opened(1280, "light");
  await page.goto(task.base + task.reader);
  await page.fill("#feedback [name=name]", "Anna");
  await page.keyboard.press("1");  // typed into the field
  say("keys do not fire while typing", !page.url().includes("saved="));
  await page.fill("#feedback [name=name]", "Anna");
  await page.fill("#feedback [name=note]", "It went the wrong way.");
  await act(page, () => page.click("#feedback [name=score][value='2']"));
  say("a click rates", (await saved(page)).includes("rated 2 of 5 (Anna)"));
  await page.locator("h1").click();
  await act(page, () => page.keyboard.press("4"));
  say("a key rates again", (await saved(page)).includes("rated 4 of 5 (Anna)"));
  say("one rating stands", await page.locator("#feedback .said li").count() === 1);
  say("the note stays", (await page.locator("#feedback .said").textContent()).includes("wrong way"));
  await page.locator("#turn-2").focus();
  await page.keyboard.press("e");
  say("e opens the correction of this turn", await page.evaluate(() => document.activeElement.closest("[data-turn]").id) === "turn-2");
  await page.keyboard.type(task.action);
  await act(page, () => page.keyboard.press("Enter"));
  say("Enter saves the correction", (await saved(page)).includes(`Turn 2: better action: ${task.action}`));
  await picture(page, "reader-desktop-light");
  await page.keyboard.press("f");
  say("f opens the flags", await page.locator("#feedback [name=flag]").first().isVisible());
  await act(page, () => page.click("#feedback [name=flag][value=broken]"));
  await act(page, () => page.locator("#feedback .said li", { hasText: "flagged" }).locator("button").click());
  say("a flag is withdrawn", !(await page.locator("#feedback .said").textContent()).includes("flagged"));
  await page.goto(task.base + task.compare);
  await act(page, () => page.keyboard.press("b"));
  say("b prefers B", (await saved(page)).includes("B is better (Anna)") && await page.locator("[value=worse][aria-pressed=true]").count() === 1);
  await picture(page, "compare-desktop-light");
  await page.goto(task.base + task.list);
  say("the list has them", (await page.locator("tbody tr").count()) === 3);
  await picture(page, "list-desktop-light");
  for (const [width, scheme, size] of [[390, "dark", "phone"], [1280, "dark", "desktop"], [390, "light", "phone"]]) {
    const other = await opened(width, scheme);
    for (const name of ["reader", "compare", "list"]) {
      await other.goto(task.base + task[name]);
      if (name === "reader") await other.evaluate(() => document.querySelectorAll("details.opinion").forEach((one, place) => { one.open = place < 2; }));
      say(`${name} fits at ${width} pixels`, await other.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
      await picture(other, `${name}-${size}-${scheme}`);
    }
    await other.context().close();
  }
  const plain = await opened(390, "light", false);
  await plain.goto(task.base + task.reader);
  await plain.fill("#feedback [name=name]", "Bob");
  await act(plain, () => plain.click("#feedback [name=score][value='5']"));
  say("a rating needs no scripts", (await saved(plain)).includes("rated 5 of 5 (Bob)"));
} finally {
  await browser.close();
}
