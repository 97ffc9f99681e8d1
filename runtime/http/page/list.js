// The list of recent turns, newest first.

import { make } from "./view.js";

/** @typedef {import("./service.js").ListedTurn} ListedTurn */

export class TurnList {
  /**
   * @param {import("./service.js").Service} service
   * @param {{list: HTMLElement, more: HTMLElement, none: HTMLElement}} elements
   * @param {{nameOf: (turn: ListedTurn) => string, hrefOf: (turn: ListedTurn) => string, current: () => string | null}} words
   */
  constructor(service, elements, words) {
    /** @private */
    this.service = service;
    /** @private */
    this.elements = elements;
    /** @private */
    this.words = words;
    /** The newest page, as it was last seen. @private @type {ListedTurn[]} */
    this.newest = [];
    /** Pages that were asked for by hand, and what has slipped down to them since. @private @type {ListedTurn[]} */
    this.older = [];
    /** Where the last page ended; null: there are no more. @private @type {string | null} */
    this.cursor = null;
    /** @private */
    this.looks = 0;
    /** @private */
    this.isAsking = false;
  }

  /** Look what there is, and show it. Gives the newest turns; none if the service could not be asked. @returns {Promise<ListedTurn[]>} */
  async look() {
    const look = ++this.looks;
    const page = await this.service.turns().catch(() => null);
    if (page === null || look !== this.looks) return []; // only the newest look counts
    const joins = without(page.turns, this.newest).length < page.turns.length;
    if (this.older.length > 0 && joins) {
      this.older = without([...this.newest, ...this.older], page.turns).map(settled);
    } else {
      // What may stand between this page and the older ones was never seen: they are asked for anew.
      this.older = [];
      this.cursor = page.before;
    }
    this.newest = page.turns;
    this.show([...this.newest, ...this.older]);
    return page.turns;
  }

  /** Show another page of older ones. */
  async showOlder() {
    if (this.isAsking) return; // the same page is on its way
    this.isAsking = true;
    try {
      let asked, page;
      do {
        asked = this.cursor;
        page = await this.service.turns(asked);
      } while (asked !== this.cursor); // a look has moved the end of the list meanwhile
      this.older = [...this.older, ...without(page.turns, [...this.newest, ...this.older])];
      this.cursor = page.before;
    } finally {
      this.isAsking = false;
    }
    await this.look();
  }

  /** Choose the next one, or with -1 the one before. @param {number} by */
  step(by) {
    const links = /** @type {HTMLAnchorElement[]} */ ([...this.elements.list.querySelectorAll("a")]);
    const at = links.findIndex((link) => link.hasAttribute("aria-current"));
    links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.click();
  }

  /** @private @param {ListedTurn[]} turns */
  show(turns) {
    const { list, more, none } = this.elements;
    none.hidden = turns.length > 0;
    more.hidden = this.cursor === null;
    const words = JSON.stringify([turns.map((turn) => [turn, this.words.nameOf(turn)]), this.words.current()]);
    if (list.dataset.words === words) return; // nothing new: what has the focus keeps it
    list.dataset.words = words;
    const focused = document.activeElement?.closest("#turns a")?.getAttribute("href");
    list.replaceChildren(...turns.map((turn) => this.item(turn)));
    if (focused) [...list.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
  }

  /** @private @param {ListedTurn} turn */
  item(turn) {
    const link = /** @type {HTMLAnchorElement} */ (make("a"));
    link.href = this.words.hrefOf(turn);
    link.dataset.state = turn.state ?? "";
    if (turn.turnId === this.words.current()) link.setAttribute("aria-current", "true");
    link.append(make("span", "dot"), make("span", "name", this.words.nameOf(turn)), make("span", "when", detailOf(turn)));
    const item = make("li");
    item.append(link);
    return item;
  }
}

/** Those of some turns that are not among others, each once. @param {ListedTurn[]} turns @param {ListedTurn[]} others */
function without(turns, others) {
  const seen = new Set(others.map((turn) => turn.turnId));
  return turns.filter(({ turnId }) => !seen.has(turnId) && seen.add(turnId));
}

/** A turn that is not looked at again: its end stays, but what it did when it was last seen says nothing. @param {ListedTurn} turn @returns {ListedTurn} */
function settled({ state, ...turn }) {
  return state === undefined || state === "running" || state === "waiting" ? turn : { ...turn, state };
}

/** @param {ListedTurn} turn */
function detailOf({ announcedAt, state }) {
  const at = announcedAt === undefined ? "" : new Date(announcedAt).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
  return [at, state].filter(Boolean).join(" · ");
}
