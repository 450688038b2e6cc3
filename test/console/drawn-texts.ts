/** The texts that a page draws on its canvases, as somebody sees them: a chart's labels are nowhere else. */
import type { Page } from "playwright-core";

interface DrawnText {
  readonly text: string;
  /** Pixels of the page from the left of the canvas, as the text is aligned, and from its top. */
  readonly x: number;
  readonly y: number;
  readonly align: string;
}

/** Keeps what is drawn since a canvas was last wiped as a whole. */
const recorder = `(() => {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  const drawn = new WeakMap();
  CanvasRenderingContext2D.prototype.clearRect = function (x, y, width, height) {
    if (x <= 0 && y <= 0 && width >= this.canvas.width && height >= this.canvas.height) drawn.delete(this.canvas);
    return clearRect.call(this, x, y, width, height);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    const { x: left, y: top } = this.getTransform().transformPoint({ x, y });
    const known = drawn.get(this.canvas) ?? [];
    drawn.set(this.canvas, [...known, { text, x: left, y: top, align: this.textAlign }]);
    return fillText.call(this, text, x, y, ...more);
  };
  window.textsOn = (canvas) => drawn.get(canvas) ?? [];
})()`;

/** For every document that the page opens from now on. */
export async function recordTexts(page: Page): Promise<void> {
  await page.addInitScript(recorder);
}

interface DrawnChart {
  readonly texts: readonly DrawnText[];
  /** Where lines can be, in the same pixels. */
  readonly left: number;
  readonly width: number;
  readonly bottom: number;
}

/** The first chart of the page. */
export function drawnChart(page: Page): Promise<DrawnChart> {
  return page.evaluate<DrawnChart>(`(() => {
    const canvas = document.querySelector(".plot canvas");
    const [whole, over] = [canvas, document.querySelector(".plot .u-over")].map((one) => one.getBoundingClientRect());
    return {
      texts: window.textsOn(canvas).map((one) => ({
        ...one,
        x: one.x / devicePixelRatio,
        y: one.y / devicePixelRatio,
      })),
      left: over.left - whole.left,
      width: over.width,
      bottom: over.bottom - whole.top,
    };
  })()`);
}
