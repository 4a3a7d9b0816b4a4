/** A file of its own, because the page's Content-Security-Policy allows no inline script. */

SwaggerUIBundle({ url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, tryItOutEnabled: true });
